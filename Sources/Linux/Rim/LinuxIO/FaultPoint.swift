internal import Glibc
internal import Synchronization

/// A point at which a test can kill the process by SIGKILL: before and after each change of the machine or the disk.
///
/// `ROAMWARD_DIE_AT=n` kills it at the n-th point that it reaches, counted from 1; `ROAMWARD_FAULT_LOG=file` logs all of them. Only debug
/// builds read these variables: in a release the environment cannot stop the agent, and there is no cost.
package enum FaultPoint {
  /// `what` describes the point, as `before ip link add dev corp type wireguard`.
  @inline(__always)
  package static func pass(_ what: @autoclosure () -> String) {
    #if DEBUG
      if isArmed { arrive(at: what()) }
    #endif
  }

  /// Whether one of the variables is set; always false in a release.
  @inline(__always)
  package static var isArmed: Bool {
    #if DEBUG
      armed
    #else
      false
    #endif
  }

  #if DEBUG
    private static let dieAt = getenv("ROAMWARD_DIE_AT").flatMap { Int(String(cString: $0)) }
    private static let log = getenv("ROAMWARD_FAULT_LOG").map { String(cString: $0) }
    private static let armed = dieAt != nil || log != nil
    private static let count = Atomic<Int>(0)

    private static func arrive(at what: String) {
      let number = count.add(1, ordering: .relaxed).newValue
      if let log {
        let file = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0o600)
        if file >= 0 {
          let line = Array("\(number) \(what)\n".utf8)
          _ = line.withUnsafeBytes { write(file, $0.baseAddress, $0.count) }
          close(file)
        }
      }
      if number == dieAt { kill(getpid(), SIGKILL) }
    }
  #endif
}
