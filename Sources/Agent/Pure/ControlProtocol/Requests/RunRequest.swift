/// The request of `run`: give the caller's packets a route of their own. The caller then becomes the program.
package struct RunRequest: Equatable, Sendable, Codable {
  /// The program's name, for people.
  package var program: String
  /// The tunnel that its packets go through; `nil`: outside of every tunnel, or as the policies say.
  package var tunnel: String?
  /// The program's file, if the policies decide (`apps`).
  package var path: String?
  /// The number of the caller's network namespace (the inode of /proc/self/ns/net).
  package var namespace: Int64

  package init(program: String, tunnel: String?, path: String? = nil, namespace: Int64) {
    self.program = program
    self.tunnel = tunnel
    self.path = path
    self.namespace = namespace
  }

  /// Rejects what can be no program.
  func check() throws(RequestError) {
    guard !program.isEmpty, program.utf8.count <= 255, path?.utf8.count ?? 0 <= 4096 else {
      throw RequestError(code: .badRequest, message: "a run needs the name of a program, of at most 255 bytes")
    }
  }
}

/// The reply to `run`: the caller is in the control group, and each socket that it opens from now on takes that route.
package struct RunReply: Equatable, Sendable, Codable {
  /// The path of the control group.
  package var group: String
  /// The link that its packets leave by; `nil`: outside.
  package var link: String?

  package init(group: String, link: String? = nil) {
    self.group = group
    self.link = link
  }
}
