extension ReasonCode {
  /// The causes for which an attempt, or a connected tunnel, fails.
  package static let failures = allCases.filter { $0.cure != nil }

  /// The remedy for a tunnel that fails for this reason, as `doctor` says it; `nil`: no tunnel fails for it. docs/operations.md has a row
  /// for each.
  package var cure: String? {
    switch self {
    case .peerTimeout: "check the endpoint, the keys of both ends and the network's firewall; try another network"
    case .endpointUnresolved: "check this network's name servers, and whether it has a portal to sign in at"
    case .nameUnknown: "correct the endpoint's name, or have it published: the network's name servers say that it has no address"
    case .endpointUnreachable:
      "look at `ip route get` with the endpoint's address; use a network that has a route to it, or remove that route"
    case .sendRefused: "permit UDP to the endpoint in this machine's firewall: `nft list ruleset`, `iptables -S OUTPUT`"
    case .portClosed: "check the endpoint's port, whether the gateway runs, and its firewall"
    case .portTaken: "end the program that has the port (`ss -ulpn` shows it), or write another ListenPort"
    case .clockBehind: "set the clock: `timedatectl`, or `date`; if it was ahead before, the peer's device has to be made anew"
    case .engineMissing: "install roamward-wireguard, or a kernel with WireGuard"
    case .engineFailed: "read the engine's reason in the log: `journalctl -u roamwardd`; it is tried again"
    case .commandFailed: "run the tunnel's `up` or `status` by hand, as root, and read what it prints"
    case .serviceFailed: "read the service's own log: `systemctl status`, `journalctl -u`, or `nmcli connection show`"
    case .providerFailed: "read what the provider says in the log: `journalctl -u roamwardd ROAMWARD_TUNNEL=` with the tunnel's name"
    case .actionNeeded: "do what the message asks for; `roamward answer` with the tunnel's name tries again"
    case .startTimeout: "read the log for what the tunnel's program was waiting for; it is tried again"
    case .applyTimeout: "another program may keep changing the same settings: `roamward diff` shows what is missing"
    case .stepFailed: "correct the setting that the message names; `roamward plan` shows the step"
    case .linkGone: "find the program that removed the link, or the engine's end in the log"
    case .linkTaken: "rename the tunnel, or remove the other link: `ip link show` with its name"
    case .markUnavailable: "run the agent as root with control groups (cgroup2); `roamward doctor` names what is missing"
    case .overlapRefused: "use another network, or write another `on-overlap`"
    case .familyOff: "switch the family on (sysctl), or give the tunnel an address of the other one"
    case .noNetwork: "connect to a network"
    case .ruleMatched, .noRule, .lookup, .factPending, .undecided, .disabled, .ownerAway, .onDemandOff, .excluded, .standby, .outerDown,
      .carries,
      .outerPending, .unsupported, .manualOverride, .overrideEnded, .policyRemoved, .stopping, .sleep, .scheduled, .armed, .networkChanged,
      .slept,
      .agentRestarted, .peerSilent, .providerReasserting, .dnsLimited, .answerWithheld, .addressShared, .routesLimited, .overlap,
      .unanswered, .oneWay,
      .credentialExpiring, .firewallUnavailable, .needsRoot, .conflict, .trouble, .stopTimeout, .policyLoaded, .policyRefused, .trialEnded,
      .trafficBlocked, .programRoute,
      .trafficFlows, .killSwitchSuspended, .portalOpened, .killSwitchChanged, .captureChanged, .rulesChanged, .routesChanged, .linkChanged:
      nil
    }
  }
}
