/// The end of a worker that its parent did not want.
package enum WorkerTrouble: Equatable, Sendable {
  /// It has ended, or closed its channel. `code`: its exit code, or 128 plus the signal's number; `nil`: it is not known.
  case ended(code: Int32?)
  /// A message that its protocol does not have, or not now.
  case broke(String)
  /// It has left too many messages unread, or one cannot be sent to it.
  case unread(String)
  /// It says in its first message that it cannot be confined, or that it lacks something.
  case refuses(String)
  /// It has not said its first message within this time.
  case silent(Duration)

  /// The words for people. `program`: its name.
  package func words(of program: String) -> String {
    switch self {
    case .ended(let code?) where code > 128: "\(program) has ended by signal \(code - 128)"
    case .ended(let code?): "\(program) has ended with status \(code)"
    case .ended(nil): "\(program) has ended"
    case .broke(let reason): "\(program) broke the protocol: \(reason)"
    case .unread(let reason): "\(program) does not read its messages: \(reason)"
    case .refuses(let reason): "\(program) cannot work: \(reason)"
    case .silent(let limit): "\(program) does not come up within \(limit)"
    }
  }
}
