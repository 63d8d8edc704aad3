import GatewayCore
import HostFindings
import NetworkTypes
import TestKit
import Testing

@Suite("The findings of the gateway's doctor") struct GatewayConditionTests {
  /// A gateway with a pool and a device, whose machine is as it should be.
  private func healthy() throws -> GatewayCondition {
    var work = Administration()
    try work.addPool("10.77.0.0/24")
    try work.addUser(try name("alice"))
    try work.addDevice(try path("alice/laptop"), publicKey: try key(1))
    try work.addRule(
      AccessRule(id: 0, name: try name("all"), position: 0, source: .everybody, destination: .everything, isAllowing: true))
    work.setSite(try #require(Endpoint("192.0.2.1:51820")), publicKey: try key(99), link: try #require(InterfaceName("wg-gateway")))
    var condition = GatewayCondition(directory: work.directory, now: work.now)
    condition.isServing = true
    return condition
  }

  @Test("a gateway that is as it should be has none") func none() throws { #expect(try healthy().findings == []) }

  @Test("each problem is one finding, with its check, its message and its cure apart") func each() throws {
    let healthy = try healthy()
    func found(_ change: (inout GatewayCondition) -> Void) -> [HostFinding] {
      var condition = healthy
      change(&condition)
      return condition.findings
    }
    let changes: [(check: String, change: (inout GatewayCondition) -> Void)] = [
      ("settings", { $0.unserved = UnservedSettings(hasOtherStore: true, settings: []) }),
      ("store", { $0.away = StoreAbsence(reason: "no answer", age: 7) }),
      ("store", { $0.storeProblems = ["audit log: entry 3 is missing"] }),
      ("key", { $0.hasRightKey = false }), ("service", { $0.isServing = false }), ("logins", { $0.loginTrouble = "port 443 is used" }),
      ("relay", { $0.relayTrouble = "port 443 is used" }), ("page", { $0.pageTrouble = "port 443 is used" }),
      ("relay", { $0.isRelayWithoutLogins = true }), ("forwarding", { $0.notForwarded = [.v6] }),
      ("firewall", { $0.isFirewallIntact = false }), ("kernel", { $0.leftSteps = ["add the link"] }),
      ("page", { $0.settingsFindings = [HostFinding("page", GatewayError("no file", help: "write it"))] }),
      ("pam", { $0.serviceFindings = [HostFinding("pam", GatewayError("no service", help: "write it"))] }),
    ]
    for (check, change) in changes {
      let findings = found(change)
      #expect(findings.count == 1 && findings.first?.check == check && findings.first?.severity == .problem, "\(check): \(findings)")
      for finding in findings {
        #expect(!finding.message.contains("\n") && !finding.message.contains("help:") && finding.cure?.isEmpty == false)
      }
    }
  }

  @Test("in a container, the cure of a missing right is an option of it") func container() throws {
    var condition = try healthy()
    condition.isInContainer = true
    #expect(condition.findings == [])
    condition.notForwarded = [.v4, .v6]
    condition.canChangeUser = false
    condition.relayTrouble = "bind to TCP port 443: Permission denied"
    condition.leftSteps = ["roamward-wireguard wg-gateway"]
    condition.settingsFindings = [HostFinding("page", GatewayError("damaged", help: "write it"))]
    let cures = condition.findings.map { "\($0.check): \($0.cure ?? "")" }
    let forwarding =
      "forwarding: run the container with --sysctl net.ipv4.ip_forward=1 --sysctl net.ipv6.conf.all.forwarding=1"
    #expect(
      cures == [
        "relay: run the container with --cap-add NET_BIND_SERVICE, or choose a port above 1023", "page: write it",
        "users: run the container with --cap-add SETUID,SETGID,SETPCAP", forwarding, forwarding, "kernel: the container's log says why",
      ])
    condition.isInContainer = false
    #expect(condition.findings.allSatisfy { $0.cure?.contains("container") == false })
  }

  @Test("processes that cannot become other users are a risk") func users() throws {
    var condition = try healthy()
    condition.canChangeUser = false
    #expect(condition.findings.map(\.severity) == [.risk] && condition.findings.map(\.check) == ["users"])
  }

  @Test("a machine that is not serving has no findings of the kernel and of ports") func notServing() throws {
    var condition = try healthy()
    (condition.isServing, condition.isFirewallIntact, condition.loginTrouble) = (false, false, "port 443 is used")
    condition.notForwarded = [.v4]
    #expect(condition.findings.map(\.check) == ["service"])
  }

  @Test("without a gateway, that is the one finding") func uninitialised() {
    let condition = GatewayCondition(directory: Directory(), now: 0)
    #expect(condition.findings.count == 1 && condition.findings.first?.message == GatewayError.notInitialised.text)
  }
}
