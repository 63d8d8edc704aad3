internal import Glibc
internal import KernelModel
internal import LinuxIO
internal import NetworkTypes
package import ProviderGroups
package import RoamwardCore
package import SystemdIO

/// Runs the administrator's programs that bring tunnels up, take them down and check them.
///
/// A program gets the agent's PATH, `ROAMWARD_TUNNEL` (the tunnel's name) and `ROAMWARD_ACTION` (`up`, `down`, `status`), and nothing else:
/// no input, no shell, its own process group. At its time-out the whole group is ended.
///
/// `up` and `down` run in the tunnel's control group, where their sockets are marked. What is left in it after `down` is ended. `status`
/// runs outside of it: its questions are to go through the tunnel. Where there are no control groups, programs run all the same.
package final class CommandProvider {
  package enum Action: String, Equatable, Sendable {
    /// The start of the tunnel.
    case up
    /// The end of the tunnel.
    case down
    /// A look at whether it is up.
    case status
  }

  private let loop: EventLoop
  private let groups: ProviderGroups?
  private var runs: [Int: Run] = [:]
  private var count = 0

  /// A running program, or a failed start whose result is delivered later.
  private enum Run {
    case program(ChildProcess, for: String, Action)
    case news(EventSource?)
  }

  package init(on loop: EventLoop, groups: ProviderGroups? = nil) {
    self.loop = loop
    self.groups = groups
  }

  /// Runs the action's program; the sockets of `up` and `down` have this firewall mark.
  ///
  /// Calls back once, never during this call: success for status 0; otherwise the error has the exit status and
  /// the last output. An action without a program succeeds.
  package func run(
    _ action: Action, tunnel: String, _ configuration: CommandProviderConfiguration, mark: UInt32 = Ownership.mark,
    then: @escaping (Result<Void, ProviderError>) -> Void
  ) {
    count += 1
    let id = count
    let finish: (Result<Void, ProviderError>) -> Void = { [weak self] result in
      self?.runs[id] = nil
      guard action == .down, let self, let group = groups?.existingGroup(of: tunnel) else { return then(result) }
      group.signal(SIGTERM)
      empty(group, of: tunnel, run: id, until: .now + .seconds(2)) { then(result) }
    }
    let arguments = configuration.arguments(for: action)
    guard let program = arguments.first else {
      runs[id] = .news(try? loop.at(.now) { finish(.success(())) })
      return
    }
    do throws(ProviderError) { try ProviderError.checkTrust(in: program, for: action.rawValue) } catch {
      runs[id] = .news(try? loop.at(.now) { finish(.failure(error)) })
      return
    }
    let environment = ["ROAMWARD_TUNNEL": tunnel, "ROAMWARD_ACTION": action.rawValue]
    do throws(SystemError) {
      runs[id] = .program(
        try ChildProcess(
          arguments, environment: environment, timeout: configuration.timeout, group: action == .status ? nil : group(of: tunnel, mark),
          on: loop
        ) { outcome in
          finish(outcome.verdict(on: action, program))
        }, for: tunnel, action)
    } catch {
      let help = error.code == ENOENT ? "is it installed, and executable by the agent?" : nil
      runs[id] = .news(try? loop.at(.now) { finish(.failure(ProviderError("\(action.rawValue): \(error)", help: help))) })
    }
  }

  private func group(of tunnel: String, _ mark: UInt32) -> FileDescriptor? { (try? groups?.group(of: tunnel, mark: mark))?.folder }

  /// Waits until nothing runs in a tunnel's group, and removes it. At the deadline everything in it is killed.
  private func empty(_ group: OpenControlGroup, of tunnel: String, run id: Int, until deadline: Moment, then: @escaping () -> Void) {
    let isLate = Moment.now >= deadline
    if isLate { group.kill() }
    // A process that even SIGKILL does not end waits for a device; it keeps the group.
    if !group.isPopulated || Moment.now >= deadline + .seconds(1) {
      groups?.remove(tunnel)
      return then()
    }
    let next = try? loop.at(.now + .milliseconds(5)) { [weak self] in
      self?.runs[id] = nil
      self?.empty(group, of: tunnel, run: id, until: deadline, then: then)
    }
    runs[id] = .news(next)
  }

  /// Sends SIGTERM to a tunnel's running program, and SIGKILL two seconds later. Its call back comes all the same.
  package func end(tunnel: String) {
    for case .program(let program, for: tunnel, _) in runs.values { program.end() }
  }

  /// Kills a tunnel's running program now, with all its descendants, in whatever group or session. Its call back comes all the same.
  package func cut(tunnel: String) {
    for case .program(let program, for: tunnel, let action) in runs.values {
      // A stopped program starts nothing more while its descendants are searched.
      Privileges.signal(-program.process, SIGSTOP)
      for other in MarkedProcess.all where other.marks["ROAMWARD_TUNNEL"] == tunnel && other.marks["ROAMWARD_ACTION"] == action.rawValue {
        Privileges.signal(other.process, SIGKILL)
      }
      program.cut()
    }
    groups?.existingGroup(of: tunnel)?.kill()
  }

  /// Kills every program that still runs, without calling back.
  package func killAll() {
    for case .program(let program, for: _, _) in runs.values { program.kill() }
    runs = [:]
  }
}

extension CommandProviderConfiguration {
  fileprivate func arguments(for action: CommandProvider.Action) -> [String] {
    switch action {
    case .up: up
    case .down: down
    case .status: status
    }
  }
}

extension ChildProcess.Outcome {
  fileprivate func verdict(on action: CommandProvider.Action, _ program: String) -> Result<Void, ProviderError> {
    if code == 0, !wasTimedOut { return .success(()) }
    let said = tail(of: output)
    let how = wasTimedOut ? "took too long and was ended" : "ended with status \(code)"
    return .failure(ProviderError("\(action.rawValue): \(program) \(how)" + (said.isEmpty ? "" : ": \(said)")))
  }
}
