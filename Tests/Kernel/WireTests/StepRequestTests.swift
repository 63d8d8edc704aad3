import KernelModel
import KeyMemory
import NetworkTypes
import Testing
import Wire

@Suite struct StepRequestTests {
  /// One step of each kind: a new one does not compile before it is here.
  static func sample(after step: Step?, _ device: WireGuardDevice) -> Step? {
    let rule = RoutingRule(family: .v4, priority: 21_500, table: 21_500)
    let route = Route(to: .everything(.v4), on: "corp", table: 21_500)
    guard let step else { return .addWireGuardLink("corp", .kernel) }
    return switch step {
    case .addWireGuardLink: .addTUNLink("plain", user: "roamward-provider")
    case .addTUNLink: .addXFRMLink("office", identifier: 0x5200_0001)
    case .addXFRMLink: .addDummyLink("names")
    case .addDummyLink: .setAlias(link: "corp", alias: "roamward:corp")
    case .setAlias: .configureWireGuard(link: "corp", device)
    case .configureWireGuard: .renewSessions(link: "corp", device)
    case .renewSessions: .setMTU(link: "corp", mtu: 1400, was: 1500)
    case .setMTU: InterfaceAddress("192.0.2.1/24").map { .addAddress($0, link: "corp") }
    case .addAddress: InterfaceAddress("192.0.2.1/24").map { .removeAddress($0, link: "corp") }
    case .removeAddress: .setUp(link: "corp")
    case .setUp: .deleteLink("corp", .kernel)
    case .deleteLink: .addRoute(route)
    case .addRoute: .removeRoute(route)
    case .removeRoute: .addRule(rule)
    case .addRule: .removeRule(rule)
    case .removeRule: .replaceFirewall(FirewallTable())
    case .replaceFirewall: .removeFirewall
    case .removeFirewall: .writeResolvConf(ResolvConf())
    case .writeResolvConf: .restoreResolvConf
    case .restoreResolvConf: .setLinkResolver(LinkResolver(), link: "corp")
    case .setLinkResolver: .revertLinkResolver(link: "corp")
    case .revertLinkResolver: .setRecord(ResolverRecord(ResolvConf(), program: .openresolv))
    case .setRecord: .removeRecord("corp")
    case .removeRecord: .setNameServer(NameServerSettings())
    case .setNameServer: .stopNameServer
    case .stopNameServer: .setNameCapture(NameCapture())
    case .setNameCapture: .removeNameCapture
    case .removeNameCapture: nil
    }
  }

  static func samples() throws -> [Step] {
    let device = WireGuardDevice(
      engine: .kernel, privateKey: try #require(SecretKey(bytes: Array(repeating: 1, count: 32))),
      publicKey: try #require(WireGuardKey(bytes: Array(repeating: 2, count: 32))))
    var steps: [Step] = []
    while let step = sample(after: steps.last, device) { steps.append(step) }
    return steps
  }

  @Test("a step that goes out in batches has one message, and no other has any") func messages() throws {
    let steps = try Self.samples()
    #expect(steps.count == 28)
    for step in steps {
      var writer = NetlinkWriter(reserving: 64)
      writer.write(step, link: 7, sequence: 3, flags: 0)
      let messages = Array(NetlinkMessages(writer.bytes))
      #expect(messages.count == (step.traits.executor == .kernelInBatches ? 1 : 0), "\(step)")
    }
  }

  @Test("a printed undo is one or more commands, or is told to be none; only a link's own settings have no undo, which end with it")
  func printedUndo() throws {
    for step in try Self.samples() {
      guard let undo = step.undo else {
        let isOfLink =
          switch step {
          case .setAlias, .configureWireGuard, .renewSessions, .setUp: step.link != nil
          default: false
          }
        #expect(step.traits.takesAway || isOfLink, "\(step)")
        continue
      }
      let commands = undo.description.split(separator: "; ")
      let isTyped = commands.allSatisfy { command in
        ["ip ", "nft ", "resolvectl ", "resolvconf "].contains { command.hasPrefix($0) } && !command.contains(": ")
      }
      #expect(undo.isCommand == isTyped && !commands.isEmpty, "\(undo)")
    }
  }

  @Test("what takes a step back belongs to the same link or table, and what takes something away has no effect but that") func inverses()
    throws
  {
    for step in try Self.samples() {
      #expect(!step.description.isEmpty)
      #expect(step.executor(isOfResolver: true) == step.isOfResolver)
      guard let undo = step.undo else { continue }
      #expect(undo.link == step.link && undo.traits.table == step.traits.table, "\(step)")
      #expect(undo.traits.executor == step.traits.executor, "\(step)")
      #expect(undo.undo.map { $0 == step } ?? undo.traits.takesAway, "\(step)")
    }
  }
}

extension Step {
  fileprivate func executor(isOfResolver: Bool) -> Bool {
    switch traits.executor {
    case .resolverFile, .resolverProgram: isOfResolver
    case .kernelInBatches, .kernel, .firewall, .userspaceEngine: !isOfResolver
    }
  }
}
