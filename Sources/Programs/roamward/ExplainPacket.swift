import ControlClient
import ControlProtocol
import JSON
import KernelNetwork
import LinuxPlatform
import NetworkTypes
import ProviderProtocol
import RoamwardCore
import Terminal

extension Explain {
  /// Follows a packet on both sides of its tunnel (docs/decisions/0067-both-ends-of-a-tunnel-explain-what-happens-to-a-packet.md).
  func explain(_ packet: PacketExplanation) throws {
    var packet = packet
    let destination = packet.destination
    // The kernel asks its local table before all others.
    if case .local? = try? KernelReader().route(to: destination.address) {
      packet.add("kernel", .pass, "an address of this machine")
      return try tell(packet)
    }
    let set = try policies.load(unread: .left)
    if let app, packet.takeRoute(of: app, in: set, facts.agent) { return try tell(packet) }
    let snapshot = try facts.snapshot()
    let machine = try facts.sources.machine()
    let preview = try facts.preview(of: set, on: snapshot, machine: machine)
    if let note = preview.unreadNote {
      packet.add("routes", .unknown, note)
      return try tell(packet)
    }
    let desired = preview.desired
    let tunnel = packet.follow(desired, Evaluator(networks: set.networks).decide(set, on: snapshot), of: set)
    if packet.stop == nil {
      if let tunnel {
        if packet.take(facts.agent, tunnel, desired) { packet.ask(facts.agent, tunnel) }
      } else {
        packet.compare(nil)
      }
    }
    try tell(packet)
  }

  /// Looks a name up, and follows a packet to its first address. An answer may bring routes of its own, so the way is looked at afterwards.
  func explain(_ name: DomainName, at destination: (IPAddress) -> PacketDestination?) throws {
    let snapshot = try facts.snapshot()
    let preview = try facts.preview(of: try policies.load(unread: .left), on: snapshot, machine: try facts.sources.machine())
    switch ask(name, in: preview, servers: preview.observed.listedServers) {
    case .failure(let error):
      writeError("roamward: no address of \(name): \(error)\n")
      throw ExitStatus.refused
    case .success((let answer, _)):
      guard let address = answer.addresses.first, let destination = destination(address) else { throw ExitStatus.refused }
      var packet = PacketExplanation(destination)
      let fate = preview.desired.fate(of: name, on: snapshot, by: preview.resolverChoice)
      let ways = fate.routes.map { ", and packets to it go \($0)" }.joined()
      packet.add("names", .pass, "\(name) has the address \(address)\(ways)")
      try explain(packet)
    }
  }

  private func tell(_ packet: PacketExplanation) throws {
    write(json ? JSON(encoding: PacketReport(packet)).text(indented: true) + "\n" : packet.text)
    if packet.verdict != .pass { throw ExitStatus.refused }
  }
}

extension PacketExplanation {
  /// Follows a packet of a program with a route of its own. Returns whether it has one.
  fileprivate mutating func takeRoute(of text: String, in set: PolicySet, _ agent: AgentOptions) -> Bool {
    let program = escaped(text)
    guard let app = App(text), let route = set.route(of: app) else {
      add(program, .note, "no policy names it in `apps`, so its packets go where those of all programs go")
      return false
    }
    // Only its start gives it a control group.
    let started = if case .program = app { "started by `roamward run`, " } else { "" }
    guard let tunnel = route else {
      add(program, .pass, "\(started)its packets leave outside of every tunnel, past kill switches (apps: exclude)")
      return true
    }
    add(program, .pass, "\(started)its packets leave by \(tunnel) or not at all (apps: include)")
    do throws(ControlClient.Failure) {
      let report = try ControlClient(path: agent.socket).status(within: .seconds(5))
      let known = report.tunnels.first { $0.name == tunnel }
      guard let known, ["connected", "reasserting", "armed"].contains(known.state) else {
        add(tunnel, .stop, "blocked: " + (known.map { "\($0.state), \($0.reason)" } ?? "unknown to the agent"))
        return true
      }
      add(tunnel, .pass, known.state)
      ask(agent, tunnel)
    } catch {
      let isMissing = if case .noAgent = error { true } else { false }
      add(tunnel, .unknown, isMissing ? "no agent is running that could say whether it is connected" : "\(error)")
    }
    return true
  }

  /// Whether the tunnel carries packets now. Without it they may go outside, where its kill switch does not block them.
  fileprivate mutating func take(_ agent: AgentOptions, _ tunnel: String, _ desired: DesiredState) -> Bool {
    let report: StatusReport
    do throws(ControlClient.Failure) {
      report = try ControlClient(path: agent.socket).status(within: .seconds(5))
    } catch {
      let isMissing = if case .noAgent = error { true } else { false }
      add(tunnel, .unknown, isMissing ? "no agent is running that could say whether it is connected" : "\(error)")
      return false
    }
    guard let status = report.tunnels.first(where: { $0.name == tunnel }), status.state == "connected" else {
      let known = report.tunnels.first { $0.name == tunnel }
      let state = known.map { "\($0.state): \($0.reason)" } ?? "unknown to the agent"
      if case .leaves(let other, _)? = try? KernelReader().route(to: destination.address), other != known?.link,
        desired.holdingBack(destination.address).isEmpty
      {
        add(tunnel, .note, "\(state); meanwhile it goes outside")
        compare(nil)
      } else {
        add(tunnel, .stop, state)
      }
      return false
    }
    add(tunnel, .pass, "connected")
    return compare(status.link)
  }

  /// Compares the plan with the kernel's route of this moment, and adds what differs. `link`: the link of the plan; `nil`: outside. Returns
  /// whether the packet passes so far.
  @discardableResult fileprivate mutating func compare(_ link: String?) -> Bool {
    guard let answer = try? KernelReader().route(to: destination.address) else { return true }
    switch answer {
    case .withoutCarrier(let other): add("kernel", .stop, "sends it by \(other), which has no carrier")
    case .leaves(let other, _) where link != nil && other != link:
      add("kernel", .stop, "sends it by \(other) now, not by \(link ?? ""); `roamward diff` says more")
    case .leaves(let other, let router):
      if link == nil { add("kernel", .pass, "by \(router.map { "\($0) on " } ?? "")\(other)") }
    case .none(let reason): add("kernel", .stop, "no route (\(reason))")
    case .local, .unknownLink: break
    }
    return stop == nil
  }

  /// Asks the other end, by the tunnel's provider: the message `explain` of docs/provider-protocol.md.
  fileprivate mutating func ask(_ agent: AgentOptions, _ tunnel: String) {
    let value: JSON = [
      "address": .string(destination.address.description), "protocol": .string(destination.transport),
      "port": destination.port.map { .integer(Int64($0)) } ?? .null,
    ]
    do throws(ControlClient.Failure) {
      let content = MessageContent.typed("explain", value).json
      let steps = try ControlClient(path: agent.socket).ask(.message(tunnel: tunnel, content: content), within: .seconds(6))
      for step in steps["content"]?["value"]?["steps"]?.array ?? [] {
        add(
          step["place"]?.string ?? "", step["verdict"]?.string.flatMap { Verdict(rawValue: $0) } ?? .unknown, step["text"]?.string ?? "")
      }
    } catch {
      add("other end of \(tunnel)", .unknown, "\(error)")
    }
  }
}
