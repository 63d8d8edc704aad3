internal import ClientLibraries
internal import GatewayLogin
internal import Glibc
internal import JSON
package import LinuxIO
internal import LoginProtocol
internal import NetworkTypes
internal import OpenIDConnect
internal import ProcessConfinement
internal import ResolverLibrary

/// The work of `roamward-gateway-oidc`: sign-ins at an OpenID provider, without privileges.
package final class OpenIDWork {
  /// Descriptors for a connection and two look-ups of each sign-in.
  private static let worker = ConfinedWorker(
    user: "roamward-oidc", descriptors: 4 * SignInLimits.flows, memory: 256 << 20, filter: OpenIDFilter.filter)

  private let channel: MessageChannel
  private let loop: DescriptorLoop
  private let lookUps: NameLookUps
  private var authorities: Authorities
  private var client: OpenIDClient?
  private var flows: [UInt32: Flow] = [:]
  private var reading: DescriptorLoop.Source?

  private struct Flow {
    var machine: DeviceFlow
    var exchange: ProviderExchange?
    var alarm: DescriptorLoop.Source?
  }

  /// Reads every file that will be needed.
  private init(_ channel: MessageChannel) throws(SystemError) {
    self.channel = channel
    loop = try DescriptorLoop()
    authorities = try Authorities.ofSystem()
    lookUps = try NameLookUps(on: loop)
    // jansson reads a seed from a file with the first object.
    _ = try? JSON(parsing: Array("{\"a\":1}".utf8))
  }

  /// Takes the gateway's channel, confines itself, and works until the channel closes. Errors are reported to the gateway too.
  package static func run() throws(SystemError) {
    try ConfinedWorker.onChannel(hello: { OpenIDReport.hello(trouble: $0).frame.bytes }) { channel throws(SystemError) in
      let work = try OpenIDWork(channel)
      try worker.confine(withParent: true)
      try work.serve()
    }
  }

  /// Confines itself as for the gateway, and ends: tests whether that is possible here.
  package static func check() throws(SystemError) {
    _ = try Authorities.ofSystem()
    try worker.confine(withParent: false)
  }

  private func serve() throws(SystemError) {
    reading = try loop.whenReadable(channel.descriptor.number) { [weak self] in self?.receive() }
    try channel.send(OpenIDReport.hello(trouble: nil).frame.bytes)
    _ = try loop.run()
    flows = [:]
  }

  private func receive() {
    do {
      while true {
        switch try channel.receive() {
        case .nothing: return
        case .ended: return loop.stop()
        case .message(let bytes, _): take(try OpenIDOrder(LoginFrame(body: bytes.dropFirst(2))))
        }
      }
    } catch {
      // A gateway of another version: the hello has reported it.
      loop.stop()
    }
  }

  private func take(_ order: OpenIDOrder) {
    switch order {
    case .configure(let client):
      self.client = client
      if let text = client.authorities { authorities = Authorities(Array(text.utf8)) }
    case .begin(let number): begin(number, isCheck: false)
    case .check(let number): begin(number, isCheck: true)
    case .cancel(let number): flows[number] = nil
    }
  }

  private func report(_ report: OpenIDReport) {
    do throws(SystemError) { try channel.send(report.frame.bytes) } catch { loop.stop() }
  }
}

// Sign-ins.
extension OpenIDWork {
  private static var wallClock: Timestamp { Timestamp(seconds: Int64(time(nil))) }

  private func begin(_ number: UInt32, isCheck: Bool) {
    guard let client, flows[number] == nil, flows.count < SignInLimits.flows else {
      return report(.failed(number: number, "too many sign-ins are under way"))
    }
    flows[number] = Flow(machine: DeviceFlow(client, isCheck: isCheck, wallClock: Self.wallClock))
    let effects = flows[number]?.machine.begin() ?? []
    carryOut(effects, number)
  }

  private func carryOut(_ effects: [DeviceFlow.Effect], _ number: UInt32) {
    for effect in effects {
      switch effect {
      case .send(let request): send(request, number)
      case .show(let page): report(.page(number: number, page))
      case .finish(let result):
        flows[number] = nil
        finish(result, number)
      }
    }
    setAlarm(number)
  }

  private func finish(_ result: DeviceFlow.Result, _ number: UInt32) {
    switch result {
    case .identity(let identity): report(.identity(number: number, identity))
    case .denied: report(.denied(number: number))
    case .expired: report(.expired(number: number))
    case .failed(let fault): report(.failed(number: number, fault.description))
    case .checked: report(.checked(number: number))
    }
  }

  private func setAlarm(_ number: UInt32) {
    guard let flow = flows[number] else { return }
    let alarm = flow.machine.deadline.flatMap { deadline in
      try? loop.at(deadline) { [weak self] in
        guard let self, let effects = flows[number]?.machine.expire(at: .now) else { return }
        carryOut(effects, number)
      }
    }
    flows[number]?.alarm = alarm
  }

  private func send(_ request: ProviderRequest, _ number: UInt32) {
    guard let parts = URLParts(request.url) else { return answer(.failed("its URL cannot be read"), number) }
    switch parts.host {
    case .address: exchange(request, [], number)
    case .name(let name):
      lookUps.find(name) { [weak self] addresses, reason in
        if addresses.isEmpty { self?.answer(.failed(reason), number) } else { self?.exchange(request, addresses, number) }
      }
    }
  }

  private func exchange(_ request: ProviderRequest, _ addresses: [IPAddress], _ number: UInt32) {
    guard flows[number] != nil else { return }
    let exchange = ProviderExchange(request, at: addresses, trusting: authorities, on: loop) { [weak self] response in
      self?.answer(response, number)
    }
    if let exchange { flows[number]?.exchange = exchange } else { answer(.failed("libcurl takes no request"), number) }
  }

  private func answer(_ response: ProviderResponse, _ number: UInt32) {
    flows[number]?.exchange = nil
    guard
      let effects = flows[number]?.machine.receive(
        response, at: .now, wallClock: Self.wallClock, { SignatureVerifier.isRight($0, $1, $2) })
    else { return }
    carryOut(effects, number)
  }
}
