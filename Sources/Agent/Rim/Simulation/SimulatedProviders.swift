internal import AgentCore
package import JSON
internal import KernelModel
package import NetworkTypes
package import ProviderProtocol
internal import RoamwardCore

/// The programs of installed providers, by the provider's side of the real protocol: each asks for its settings, and is ready where peers
/// answer.
package struct SimulatedProviders {
  /// The settings that a tunnel's provider asks for; without an entry, an address alone.
  package var settings: [String: TunnelSettings] = [:]
  /// The failure of a tunnel's provider, instead of `ready`.
  package var failures: [String: ProviderProtocol.TunnelFailure] = [:]
  /// The questions of tunnels' providers to a person, asked before they connect.
  package var questions: [String: Question] = [:]
  package var credentials = SimulatedCredentials()
  /// The transports of packets, in the words of tunnels' providers.
  package var transports: [String: String] = [:]
  /// The tunnels whose programs take long to stop: they never say that they have.
  package var lingering: Set<String> = []
  /// Tunnels whose programs end at once with this code; `nil`: they run, and say nothing.
  package var speechless: [String: Int32?] = [:]
  /// The packets that links have carried, as the kernel counts them.
  package var packets: [String: (received: UInt64, sent: UInt64)] = [:]
  /// The servers to which tunnels' providers connect a socket before they ask for their settings.
  package var servers: [String: Endpoint] = [:]
  /// The own addresses of sockets that the agent connects for tunnels' providers.
  package var ownAddresses: [String: IPAddress] = [:]
  /// The names that a tunnel's provider resolves before it asks for its settings.
  package var names: [String: DomainName] = [:]
  /// The tunnels whose providers ask for their device too, right behind the settings.
  package var wantDevice: Set<String> = []
  /// The devices that providers were given.
  package internal(set) var devices: [String] = []
  /// The options of each start, by tunnel.
  package internal(set) var options: [String: [JSON]] = [:]
  /// The outcomes of questions: tunnel and outcome.
  package internal(set) var answers: [String] = []
  /// The reasons of stops: tunnel and reason.
  package internal(set) var stops: [String] = []
  /// Settings that were refused: tunnel, setting and value.
  package internal(set) var refusals: [String] = []
  /// Networks that providers were told of: tunnel and interface.
  package internal(set) var networks: [String] = []
  var running: [String: SimulatedProvider] = [:]
  /// Programs whose channels the service manager keeps for the next agent.
  var left: [String: SimulatedProvider] = [:]
  /// Messages of those, which wait in their channels.
  var unread: [String: [[UInt8]]] = [:]
  /// Whether the service manager keeps channels.
  package var keepsChannels = true
  /// Starts and stops in their order: `corp start: /usr/bin/vpn as vpn`, `corp stop`.
  package internal(set) var orders: [String] = []
  /// The number of programs that were started.
  package internal(set) var starts = 0

  /// The tunnels with a program.
  package var tunnels: [String] { running.keys.sorted() }

  mutating func forgetLeft(but kept: Set<String>) { left = left.filter { kept.contains($0.key) } }
}

/// One program: what the agent sends, and what it answers.
struct SimulatedProvider {
  var endpoint = ProviderEndpoint()
  var events: (ProviderChannelEvent) -> Void
  var number: Int64 = 0
}

extension SimulatedMachine {
  func installed(of life: SimulatedLife) -> InstalledPlatform {
    // The channels of an agent that is gone are closed.
    providers.running = [:]
    return InstalledPlatform(
      start: { [unowned self] tunnel, program, _, events throws(PlatformError) in
        providers.starts += 1
        providers.orders.append("\(tunnel) start: \(program.path) as \(program.user)")
        providers.running[tunnel] = SimulatedProvider(events: { if !life.isDead { events($0) } }, number: Int64(providers.starts))
        if let code = providers.speechless[tunnel] {
          if code != nil { soon(life) { [unowned self] in providers.running.removeValue(forKey: tunnel)?.events(.ended(code: code)) } }
          return
        }
        if let hello = try? ProviderEndpoint.hello(program: "simulated 1.0") { tell(tunnel, hello, life) }
      },
      openCredentials: { [unowned self] name, provider throws(PlatformError) in try providers.credentials.open(name, provider) },
      send: { [unowned self] in receive($1, providers.credentials.take($2, of: $0), $0, life) },
      openDevice: { [unowned self] _, _, link throws(PlatformError) in Int(state.observed.kernel.link(named: link)?.mtu ?? 1500) },
      openSocket: { [unowned self] tunnel, _, _, _, done in done(.success(providers.ownAddresses[tunnel])) },
      keepSecret: { [unowned self] in providers.credentials.keep($1, $2, of: $0) },
      // An agent may be released after its machine.
      end: { [weak self] tunnel in self?.endProvider(of: tunnel, life) },
      cut: { [weak self] tunnel in self?.endProvider(of: tunnel, life) },
      endLeftovers: { [unowned self] kept in if !life.isDead { providers.forgetLeft(but: kept) } },
      handOver: { [unowned self] tunnel in leave(tunnel, life) },
      adopt: { [unowned self] tunnel, left, _, events in
        guard !life.isDead, var program = providers.left.removeValue(forKey: tunnel), program.number == left.process else { return false }
        program.events = { if !life.isDead { events($0) } }
        providers.running[tunnel] = program
        for bytes in providers.unread.removeValue(forKey: tunnel) ?? [] { tell(tunnel, bytes, life) }
        return true
      }, endUnclaimed: { [unowned self] _ in if !life.isDead { providers.left = [:] } })
  }

  private func leave(_ tunnel: String, _ life: SimulatedLife) -> LeftProgram? {
    let left: LeftProgram?? = pass("keep the channel of \(tunnel)", by: life) {
      guard providers.keepsChannels, let program = providers.running.removeValue(forKey: tunnel) else { return LeftProgram?.none }
      providers.left[tunnel] = program
      return LeftProgram(process: program.number, started: program.number)
    }
    return left ?? nil
  }

  /// The provider of a tunnel that no agent reads says this. Returns whether it runs.
  package func sayUnread(_ tunnel: String, _ message: ProviderMessage) -> Bool {
    guard let bytes = try? providers.left[tunnel]?.endpoint.send(message) else { return false }
    providers.unread[tunnel, default: []].append(bytes)
    return true
  }

  /// The provider of a tunnel says this now, with the number of its next request.
  package func say(_ tunnel: String, _ message: (UInt32) -> ProviderMessage) {
    guard let id = providers.running[tunnel]?.endpoint.nextRequest, let bytes = try? providers.running[tunnel]?.endpoint.send(message(id))
    else { return }
    providers.running[tunnel]?.events(.message(bytes, hasDescriptor: false))
  }

  /// The program of a tunnel that no agent reads ends by itself; its channel is not kept any more.
  package func endLeftProgram(of tunnel: String) { (providers.left[tunnel], providers.unread[tunnel]) = (nil, nil) }

  /// The program of a tunnel ends by itself.
  package func endProgram(of tunnel: String) { providers.running.removeValue(forKey: tunnel)?.events(.ended(code: 0)) }

  private func tell(_ tunnel: String, _ bytes: [UInt8], _ life: SimulatedLife) {
    soon(life) { [unowned self] in providers.running[tunnel]?.events(.message(bytes, hasDescriptor: false)) }
  }

  private func say(_ tunnel: String, _ message: ProviderMessage, _ life: SimulatedLife) {
    guard let bytes = try? providers.running[tunnel]?.endpoint.send(message) else { return }
    tell(tunnel, bytes, life)
  }

  private func sayConnected(_ tunnel: String, _ id: UInt32, _ life: SimulatedLife) {
    let standard = TunnelSettings(addresses: [InterfaceAddress("198.18.0.2/32")].compactMap(\.self))
    say(tunnel, .settings(id: id, providers.settings[tunnel] ?? standard), life)
    if providers.wantDevice.contains(tunnel), let next = providers.running[tunnel]?.endpoint.nextRequest {
      say(tunnel, .openDevice(id: next), life)
    }
  }

  private func endProvider(of tunnel: String, _ life: SimulatedLife) {
    guard let provider = providers.running.removeValue(forKey: tunnel) else { return }
    soon(life) { provider.events(.ended(code: nil)) }
  }

  private func receive(_ bytes: [UInt8], _ hasDescriptor: Bool, _ tunnel: String, _ life: SimulatedLife) {
    guard let event = try? providers.running[tunnel]?.endpoint.receive(bytes, hasDescriptor: hasDescriptor),
      let next = providers.running[tunnel]?.endpoint.nextRequest
    else { return }
    switch event {
    case .start(let request):
      providers.options[tunnel, default: []].append(request.options)
      if let failure = providers.failures[tunnel] { return say(tunnel, .failed(failure), life) }
      if let question = providers.questions[tunnel] { return say(tunnel, .ask(id: next, question), life) }
      if let server = providers.servers[tunnel] { return say(tunnel, .openSocket(id: next, .udp, server), life) }
      if let name = providers.names[tunnel] { return say(tunnel, .resolve(id: next, name), life) }
      // It asks again and again, as a program does whose server is silent.
      if peersAnswer { sayConnected(tunnel, next, life) }
    case .answer(_, let outcome):
      providers.answers.append("\(tunnel) \(outcome.rawValue)")
      if outcome == .answered { return sayConnected(tunnel, next, life) }
      say(tunnel, .failed(.init(code: "no-password", text: "it needs a password", help: .person)), life)
    case .addresses, .socket: if peersAnswer { sayConnected(tunnel, next, life) }
    case .refused(_, let refusal):
      say(tunnel, .failed(.init(code: refusal.code, text: "its server: \(refusal.text)", help: .time)), life)
    case .device(_, let interface, _): providers.devices.append(interface)
    case .applied(_, let refused):
      providers.refusals += refused.map { "\(tunnel) \($0.setting) \($0.value)" }
      if let transport = providers.transports[tunnel] { say(tunnel, .transport(text: transport), life) }
      say(tunnel, .ready, life)
    case .stop(let reason):
      providers.stops.append("\(tunnel) \(reason.rawValue)")
      providers.orders.append("\(tunnel) stop")
      if !providers.lingering.contains(tunnel) { say(tunnel, .stopped, life) }
    case .network(let path): providers.networks.append("\(tunnel) \(path?.interface ?? "none")")
    case .sleep: say(tunnel, .asleep, life)
    case .message(let id, _):
      say(tunnel, .reply(id: id, .failure(Refusal(code: "unknown-type", text: "a simulated provider knows no messages"))), life)
    default: break
    }
  }
}
