internal import HostFindings
internal import NetworkTypes
import RoamwardCore

extension HostCheck {
  /// Checks that the installation is complete.
  static let installationChecks = [
    HostCheck("policies", "the policies have no errors") { host, _ in
      guard host.policyErrors > 0 else { return [] }
      let errors = host.policyErrors == 1 ? "an error" : "\(host.policyErrors) errors"
      return [
        HostFinding(
          "policies", .problem, "the policies have \(errors); the agent keeps the last known good",
          cure: "run `roamward check`, and correct the errors that it lists")
      ]
    },
    HostCheck("agent", "the agent is running") { host, policies in
      let severity: HostFinding.Severity = policies.enabled.isEmpty ? .hint : .problem
      return switch host.agent {
      case .runs: []
      case .silent(let reason):
        [
          HostFinding(
            "agent", severity, "the agent is running, but gives no report: \(reason)",
            cure: "try again; if that stays, `journalctl -u roamwardd` says more, and `systemctl restart roamwardd` starts it anew")
        ]
      case .absent(let reason):
        [
          HostFinding(
            "agent", severity, "the agent is not running, so no policy is applied: \(reason)", cure: "systemctl enable --now roamwardd")
        ]
      }
    },
    HostCheck("unit", "the agent starts at boot") { host, policies in
      guard !policies.enabled.isEmpty, host.agent == .runs, !host.enabledUnits.contains("roamwardd.service") else { return [] }
      return [HostFinding("unit", .risk, "the agent is not started at boot", cure: "systemctl enable roamwardd")]
    },
    HostCheck("lock", "the kill switch `always` is active from boot on") { host, policies in
      let names = policies.enabled.filter { $0.guarding == .always }.map(\.name)
      guard !names.isEmpty, !host.enabledUnits.contains("roamward-lock.service") else { return [] }
      return [
        HostFinding(
          "lock", .risk, "\(list(names)): kill-switch is always, but no traffic is blocked between boot and the agent's start",
          cure: "systemctl enable roamward-lock")
      ]
    },
    HostCheck("programs", "the programs of the tunnels are installed") { host, _ in
      host.missingPrograms.sorted { $0.key < $1.key }.map { tunnel, programs in
        HostFinding(
          "programs", .problem, "\(tunnel) cannot be brought up: \(list(programs)) not found",
          cure: "install \(programs.count == 1 ? "it" : "them"), or correct the policy's provider")
      }
    },
    HostCheck("provider-users", "the users of the tunnels' providers exist") { host, _ in
      host.missingUsers.sorted { $0.key < $1.key }.map { tunnel, user in
        HostFinding(
          "provider-users", .problem, "\(tunnel) cannot be brought up: its provider runs as the user \(user), which does not exist",
          cure: "systemd-sysusers, or useradd --system \(user)")
      }
    },
    HostCheck("services", "the services of the tunnels are there") { host, _ in
      host.missingServices.sorted { $0.key < $1.key }.map { tunnel, reason in
        HostFinding(
          "services", .problem, "\(tunnel) cannot be brought up: \(reason)", cure: "install or start the service, or correct `provider:`")
      }
    },
    HostCheck("clock", "the clock is plausible") { host, policies in
      // WireGuard's handshakes contain the time, and a peer never accepts an earlier one (TAI64N, WireGuard paper 5.1). Certificates have
      // validity dates.
      guard !policies.enabled.isEmpty, host.clock > 0, host.clock < 1_735_689_600 else { return [] }
      return [
        HostFinding(
          "clock", .problem,
          "the clock is before 2025: gateways that have seen a later time refuse handshakes, and certificates are not valid yet",
          cure: "synchronize the clock: apt install systemd-timesyncd")
      ]
    },
  ]
}
