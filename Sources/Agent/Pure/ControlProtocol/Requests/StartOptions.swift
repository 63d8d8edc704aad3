/// The options of one start: `up` with `--option`, `--username` and a password.
package struct StartOptions: Hashable, Sendable, Codable {
  /// One option of the provider, as text.
  package struct Option: Hashable, Sendable, Codable {
    package var name: String
    package var value: String

    package init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }

  /// In the order of the command; several of one name are a list.
  package var options: [Option]
  /// The credential `password`, for the next run of the provider.
  package var password: String?

  package init(options: [Option] = [], password: String? = nil) {
    self.options = options
    self.password = password
  }

  package var isEmpty: Bool { options.isEmpty && password == nil }

  /// The most options of a start, and the most bytes of a password.
  package static let limits = (options: 64, password: 4096)

  /// Checks the limits.
  func check() throws(RequestError) {
    if options.count > Self.limits.options {
      throw RequestError(code: .badRequest, message: "a start has at most \(Self.limits.options) options")
    }
    if let password, password.isEmpty || password.utf8.count > Self.limits.password {
      throw RequestError(code: .badRequest, message: "a password has 1 to \(Self.limits.password) bytes")
    }
  }
}

// Nothing that prints a request shows the password.
extension StartOptions: CustomStringConvertible, CustomReflectable {
  package var description: String { "options \(options.map(\.name))\(password == nil ? "" : " and a password")" }
  package var customMirror: Mirror { Mirror(self, children: ["options": options.map(\.name), "hasPassword": password != nil]) }
}
