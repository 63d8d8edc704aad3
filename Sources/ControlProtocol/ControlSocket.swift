/// The files of the local socket.
package enum ControlSocket {
  package static let standard = "/run/roamward/control.sock"

  /// The second socket, mode 0600, for root and the agent's own user: connections of other users cannot fill its queue.
  package static func ownersPath(of path: String) -> String { path + ".root" }

  package static func paths(of path: String) -> [String] { [path, ownersPath(of: path)] }
}
