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
  /// The problems of sign-ins at an OpenID provider, each with its cure.
  package var openIDProblems: [String] = []
  /// The problems of password checks by PAM, each with its cure.
  package var pamProblems: [String] = []
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
  /// The problems of settings in files, each with its cure.
  package var settingsProblems: [String] = []
  /// Whether relays are allowed, and logins are not: clients would not know of them.
  package var isRelayWithoutLogins = false
  /// Seconds since 1970.
  package var now: Int64

  package init(directory: Directory, now: Int64) {
    self.directory = directory
    self.now = now
  }

  /// The problems, each with its cure; none: all checks passed.
  package var problems: [String] {
    if directory.sites.isEmpty { return [GatewayError.notInitialised.description] }
    var found = unserved.map { ["\($0.text)\n  help: \(UnservedSettings.help)"] } ?? []
    found += away.map { ["\($0)\n  help: check the server; logins and changes are unavailable until it is back"] } ?? []
    found += storeProblems.map { "\($0)\n  help: restore the store from a copy that `roamward-gateway backup` made" }
    if !hasRightKey { found.append("the private key is missing, or not the one that clients know\n  help: restore private.key") }
    if !isServing { found.append("no gateway runs\n  help: systemctl start roamward-gateway") }
    if isServing, let loginTrouble {
      found.append("nobody can log in: \(loginTrouble)\n  help: free that port, or `journalctl -u roamward-gateway`")
    }
    if isServing, let relayTrouble {
      found.append("nothing is relayed: \(relayTrouble)\n  help: roamward-gateway relay enable --port PORT, or free that port")
    }
    if isServing, let pageTrouble {
      found.append("the page is not shown: \(pageTrouble)\n  help: roamward-gateway web enable --port PORT, or free that port")
    }
    found += settingsProblems
    if isRelayWithoutLogins {
      found.append("nothing is relayed, because there are no logins\n  help: roamward-gateway login enable")
    }
    if directory.sortedPools.isEmpty {
      found.append("there is no pool: devices get no address\n  help: roamward-gateway pool add lan 10.77.0.0/24 --nat")
    }
    if directory.rules.isEmpty, !directory.devices.isEmpty {
      found.append(
        "there is no rule of access: devices reach nothing\n  help: roamward-gateway access allow NAME --from everybody --to PREFIX")
    }
    let translated = directory.sortedPools.filter(\.isTranslated).map(\.name.description)
    if !partners.isEmpty, !translated.isEmpty, !hasConntrackd {
      found.append(
        "connections by masquerade (pool \(translated.joined(separator: ", "))) break when \(partners.joined(separator: ", ")) takes over"
          + "\n  help: run conntrackd on both gateways, as docs/gateway.md shows, or route the pools")
    }
    found += openIDProblems + pamProblems
    if isServing {
      for family in notForwarded {
        found.append(
          "the kernel forwards no \(family == .v4 ? "IPv4" : "IPv6")\n  help: roamward-gateway forward; another program turns it off")
      }
      if !isFirewallIntact { found.append("the table \(GatewayTable.name) is not as it should be\n  help: another program changes it") }
      for step in leftSteps ?? [] { found.append("left to do: \(step)\n  help: see `journalctl -u roamward-gateway`") }
    }
    for (name, pool) in directory.sortedPools.map({ ($0.name, $0) }) {
      let leased = UInt64(directory.leases.values.count { $0.pool == pool.id && $0.device != nil })
      let places = pool.places
      if leased > places.upperBound - places.lowerBound {
        found.append("pool \(name) is full\n  help: roamward-gateway device remove USER/NAME, or replace it by a larger pool")
      }
    }
    return found
  }
}
