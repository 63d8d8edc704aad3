/// A program's look-up of a name that starts a tunnel.
package struct NameLookup: Hashable, Sendable {
  /// The program that asked, as far as it can be told.
  package struct Asker: Hashable, Sendable {
    /// The user ID of the socket.
    package var user: UInt32
    /// The control group of the socket, as a path below the root; `nil`: not known.
    package var controlGroup: String?

    package init(user: UInt32, controlGroup: String? = nil) {
      self.user = user
      self.controlGroup = controlGroup
    }
  }

  package var tunnel: String
  /// In lower case, without a dot at its end.
  package var name: String
  /// `nil`: another host or a container, or its socket is closed already. A resolver asks for other programs.
  package var asker: Asker?

  package init(tunnel: String, name: String, asker: Asker? = nil) {
    self.tunnel = tunnel
    self.name = name
    self.asker = asker
  }
}

extension NameLookup: CustomStringConvertible {
  /// `a look-up of git.corp.example by user 1000 in user.slice/app-firefox.scope`.
  package var description: String { "a look-up of \(name)\(asker.map { "\($0)" } ?? "")" }
}

extension NameLookup.Asker: CustomStringConvertible {
  /// Behind the name. systemd-resolved asks for other programs, and says of none that it has asked.
  package var description: String {
    if let controlGroup, controlGroup.hasSuffix("/systemd-resolved.service") { return " through systemd-resolved" }
    return " by user \(user)" + (controlGroup.map { " in \($0)" } ?? "")
  }
}
