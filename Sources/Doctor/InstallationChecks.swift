import RoamwardCore

extension HostCheck {
  /// Whether everything is there and in its place.
  static let installationChecks = [
    HostCheck("policies", "the policies are without errors") { host, _ in
      guard host.policyErrors > 0 else { return [] }
      let errors = host.policyErrors == 1 ? "an error" : "\(host.policyErrors) errors"
      return [
        HostFinding(
          "policies", .problem, "the policies have \(errors); an agent keeps to what was good last", cure: "roamward check says where")
      ]
    },
    HostCheck("agent", "the agent runs") { host, policies in
      guard case .absent(let reason) = host.agent else { return [] }
      let severity: HostFinding.Severity = policies.enabled.isEmpty ? .hint : .problem
      return [
        HostFinding(
          "agent", severity, "the agent does not run, so nothing happens by itself: \(reason)", cure: "systemctl enable --now roamwardd")
      ]
    },
    HostCheck("unit", "the agent starts with the machine") { host, policies in
      guard !policies.enabled.isEmpty, host.agent == .runs, !host.enabledUnits.contains("roamwardd.service") else { return [] }
      return [HostFinding("unit", .risk, "the agent is not started at boot", cure: "systemctl enable roamwardd")]
    },
    HostCheck("lock", "what is guarded always is guarded from the start") { host, policies in
      let names = policies.enabled.filter { $0.guarding == .always }.map(\.name)
      guard !names.isEmpty, !host.enabledUnits.contains("roamward-lock.service") else { return [] }
      return [
        HostFinding(
          "lock", .risk, "\(list(names)): kill-switch is always, and between boot and the agent's first look nothing is held back",
          cure: "systemctl enable roamward-lock")
      ]
    },
    HostCheck("programs", "the programs of the tunnels are there") { host, _ in
      host.missingPrograms.sorted { $0.key < $1.key }.map { tunnel, programs in
        HostFinding(
          "programs", .problem, "\(tunnel) cannot be brought up: there is no \(list(programs))",
          cure: "install \(programs.count == 1 ? "it" : "them"), or correct the policy's provider")
      }
    },
    HostCheck("clock", "the clock is right enough") { host, policies in
      // WireGuard's handshakes carry the time, and a peer never goes back (TAI64N, WireGuard paper 5.1); certificates have their days.
      guard !policies.enabled.isEmpty, host.clock > 0, host.clock < 1_735_689_600 else { return [] }
      return [
        HostFinding(
          "clock", .problem,
          "the clock stands before 2025: gateways that have seen a later time refuse handshakes, and no certificate is valid yet",
          cure: "set the clock, and keep it set: apt install systemd-timesyncd")
      ]
    },
    HostCheck("root", "everything could be looked at") { host, _ in
      host.isRoot ? [] : [HostFinding("root", .hint, "not everything could be looked at", cure: "run this as root")]
    },
  ]
}
