package import HostFindings
package import NetworkTypes

/// The facts that `doctor` judges.
package struct GatewayCondition: Hashable, Sendable {
  package var directory: Directory
  /// The problems of the store itself.
  package var storeProblems: [String] = []
  /// The store's server is away; `nil`: it answers.
  package var away: StoreAbsence?
  /// The machines of other gateways with the same key and store.
  package var partners: [String] = []
  /// Whether connection tracking is shared with other machines (conntrackd(8)).
  package var hasConntrackd = false
  package var isServing = false
  /// The differences between the running gateway and what commands mean.
  package var unserved: UnservedSettings?
  /// The problems of sign-ins at an OpenID provider and of password checks by PAM.
  package var serviceFindings: [HostFinding] = []
  /// Whether the private key is there, and the one that clients know.
  package var hasRightKey = true
  /// Families whose packets the kernel does not forward.
  package var notForwarded: [IPAddress.Family] = []
  /// Steps that are left to do in the kernel; `nil`: not examined.
  package var leftSteps: [String]? = []
  package var isFirewallIntact = true
  /// The reason why the gateway takes no logins; `nil`: it takes them, or they are not enabled.
  package var loginTrouble: String?
  /// The reason why the gateway does not listen at the port of relays; `nil`: it does, or relays are not enabled.
  package var relayTrouble: String?
  /// The reason why the gateway shows no page; `nil`: it shows it, or the page is not enabled.
  package var pageTrouble: String?
  /// The problems of settings in files.
  package var settingsFindings: [HostFinding] = []
  /// Whether relays are allowed, and logins are not: clients would not know of them.
  package var isRelayWithoutLogins = false
  /// Whether it runs in a container without systemd, which other commands manage.
  package var isInContainer = false
  /// Whether the processes that read what strangers send can have users of their own.
  package var canChangeUser = true
  package var now: Timestamp

  package init(directory: Directory, now: Timestamp) {
    self.directory = directory
    self.now = now
  }

  /// The findings; none: all checks passed.
  package var findings: [HostFinding] {
    if directory.sites.isEmpty { return [HostFinding("gateway", .notInitialised)] }
    let all = serviceOfGateway + settingsFindings + access + translation + serviceFindings + users + kernel + pools
    return isInContainer ? all.map(inContainer) : all
  }

  /// The store, the key and the process, with what it offers.
  private var serviceOfGateway: [HostFinding] {
    var found: [HostFinding] = []
    func add(_ check: String, _ message: String, cure: String) { found.append(HostFinding(check, .problem, message, cure: cure)) }
    if let unserved { add("settings", unserved.text, cure: UnservedSettings.help) }
    if let away { add("store", "\(away)", cure: "check the server; logins and changes are unavailable until it is back") }
    for problem in storeProblems { add("store", problem, cure: "restore a backup: `roamward-gateway restore --replace FILE`") }
    if !hasRightKey { add("key", "the private key is missing, or not the one that clients know", cure: "restore private.key") }
    guard isServing else {
      add("service", "no gateway runs", cure: "systemctl start roamward-gateway")
      return found
    }
    if let loginTrouble {
      add("logins", "nobody can log in: \(loginTrouble)", cure: "free that port, or `journalctl -u roamward-gateway`")
    }
    if let relayTrouble {
      add("relay", "nothing is relayed: \(relayTrouble)", cure: "roamward-gateway set relay.port PORT, or free that port")
    }
    if let pageTrouble {
      add("page", "the page is not shown: \(pageTrouble)", cure: "roamward-gateway set page.port PORT, or free that port")
    }
    return found
  }

  private static let relayWithoutLogins = "nothing is relayed, because there are no logins"

  /// The settings without which devices reach nothing.
  private var access: [HostFinding] {
    var found: [HostFinding] = []
    if isRelayWithoutLogins {
      found.append(
        HostFinding("relay", .problem, Self.relayWithoutLogins, cure: "roamward-gateway set logins on"))
    }
    if directory.sortedPools.isEmpty {
      found.append(
        HostFinding(
          "pools", .problem, "there is no pool: devices get no address",
          cure: "roamward-gateway set pools.lan '{ prefix: 10.77.0.0/24, masquerade: true }'"))
    }
    if directory.rules.isEmpty, !directory.devices.isEmpty {
      found.append(
        HostFinding(
          "access", .problem, "there is no rule of access: devices reach nothing",
          cure: "roamward-gateway access add NAME --from everybody --to PREFIX"))
    }
    return found
  }

  /// The connections that a take-over by another gateway breaks.
  private var translation: [HostFinding] {
    let translated = directory.sortedPools.filter(\.isTranslated).map(\.name.description)
    if partners.isEmpty || translated.isEmpty || hasConntrackd { return [] }
    return [
      HostFinding(
        "translation", .risk,
        "connections by masquerade (pool \(translated.joined(separator: ", "))) break when \(partners.joined(separator: ", ")) takes over",
        cure: "run conntrackd on both gateways, as docs/gateway.md shows, or route the pools")
    ]
  }

  /// The state of processes without users of their own: they have no privilege, but root's files.
  package static let sharedUser = "processes that read what strangers send are root without privileges: they cannot become other users"

  private var users: [HostFinding] {
    if canChangeUser { return [] }
    return [HostFinding("users", .risk, Self.sharedUser, cure: "give the service CAP_SETUID and CAP_SETGID, as its unit does")]
  }

  /// A finding with its cure in a container.
  private func inContainer(_ finding: HostFinding) -> HostFinding {
    let sysctls = notForwarded.map { "--sysctl \($0 == .v4 ? "net.ipv4.ip_forward" : "net.ipv6.conf.all.forwarding")=1" }
    let cures = [
      "service": "start the container", "settings": "restart the container; everybody connects again",
      "logins": "choose another port in `endpoint`; the container's log says more",
      "relay": "run the container with --cap-add NET_BIND_SERVICE, or choose a port above 1023",
      "page": "run the container with --cap-add NET_BIND_SERVICE, or choose a port above 1023",
      "users": "run the container with --cap-add SETUID,SETGID,SETPCAP",
      "forwarding": "run the container with \(sysctls.joined(separator: " "))", "kernel": "the container's log says why",
    ]
    let isOfFile = finding.check == "page" && settingsFindings.contains(finding)
    guard !isOfFile, finding.message != Self.relayWithoutLogins, let cure = cures[finding.check] else { return finding }
    var finding = finding
    finding.cure = cure
    return finding
  }

  /// The differences of the kernel from the store.
  private var kernel: [HostFinding] {
    guard isServing else { return [] }
    var found = notForwarded.map { family in
      HostFinding(
        "forwarding", .problem, "the kernel forwards no \(family == .v4 ? "IPv4" : "IPv6")",
        cure: "roamward-gateway serve --forwarding; another program turns it off")
    }
    if !isFirewallIntact {
      found.append(
        HostFinding("firewall", .problem, "the table \(GatewayTable.name) is not as it should be", cure: "another program changes it"))
    }
    return found
      + (leftSteps ?? []).map { HostFinding("kernel", .problem, "left to do: \($0)", cure: "see `journalctl -u roamward-gateway`") }
  }

  private var pools: [HostFinding] {
    directory.sortedPools.compactMap { pool in
      let leased = UInt64(directory.leases.values.count { $0.pool == pool.id && $0.device != nil })
      guard leased > pool.places.upperBound - pool.places.lowerBound else { return nil }
      return HostFinding(
        "pools", .problem, "pool \(pool.name) is full", cure: "roamward-gateway device remove USER/NAME, or replace it by a larger pool")
    }
  }
}

extension HostFinding {
  /// A problem that an error tells, with its cure.
  package init(_ check: String, _ error: GatewayError) { self.init(check, .problem, error.text, cure: error.help) }
}
