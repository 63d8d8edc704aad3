package import NetworkTypes

/// The request of `guard`: block all traffic but that of the caller, which then becomes the program.
package struct GuardRequest: Equatable, Sendable, Codable {
  /// The program's name, for people.
  package var program: String
  /// Addresses or names that the program alone reaches outside, each with or without a port; empty: every address.
  package var endpoints: [String]
  /// The name of the program's link; `nil`: each that appears meanwhile.
  package var link: String?
  /// The number of the caller's network namespace (the inode of /proc/self/ns/net).
  package var namespace: Int64
  /// The client addresses of sessions that must not be cut.
  package var sessions: [IPAddress]

  package init(program: String, endpoints: [String] = [], link: String? = nil, namespace: Int64, sessions: [IPAddress] = []) {
    self.program = program
    self.endpoints = endpoints
    self.link = link
    self.namespace = namespace
    self.sessions = sessions
  }

  /// Rejects what can be no program or list of endpoints.
  func check() throws(RequestError) {
    guard !program.isEmpty, program.utf8.count <= 255, endpoints.count <= 64, endpoints.allSatisfy({ $0.utf8.count <= 300 }) else {
      throw RequestError(code: .badRequest, message: "a guard needs the name of a program, and takes at most 64 endpoints")
    }
    if let link, InterfaceName(link) == nil { throw RequestError(code: .badRequest, message: "\"\(link)\" is no name of a link") }
  }
}

/// The reply to `guard`: the kill switch is in force, and the caller is in the control group.
package struct GuardReply: Equatable, Sendable, Codable {
  /// The endpoints outside that the program's own packets may reach; empty: every address.
  package var endpoints: [String]
  /// The links that are the program's already.
  package var links: [String]
  /// The file that the caller creates before the program starts, and removes before an end that is wanted. If it is still there when the
  /// caller has ended, the kill switch stays closed. `nil`: there can be none.
  package var presence: String?

  package init(endpoints: [String], links: [String] = [], presence: String? = nil) {
    self.endpoints = endpoints
    self.links = links
    self.presence = presence
  }
}
