/// The local socket: its files, and the version of its protocol.
package enum ControlSocket {
  /// The version of requests and replies. Agent and command line are installed together; they may differ only after an upgrade, until the
  /// agent is restarted.
  package static let version: Int64 = 2

  package static let standard = "/run/roamward/control.sock"

  /// The second socket, mode 0600, for root and the agent's own user: connections of other users cannot fill its queue.
  package static func ownersPath(of path: String) -> String { path + ".root" }

  package static func paths(of path: String) -> [String] { [path, ownersPath(of: path)] }
}
