package import NetworkTypes

/// The request of `apply`: these files replace active policies.
package struct ApplyRequest: Hashable, Sendable, Codable {
  /// A policy, or a file that a policy beside it names.
  package struct File: Hashable, Sendable, Codable {
    /// The file's name, without a folder.
    package var name: String
    package var text: String

    package init(name: String, text: String) {
      self.name = name
      self.text = text
    }
  }

  package var files: [File]
  /// Milliseconds after which the previous set is active again unless `confirm` was called; `nil`: active permanently.
  private var confirmWithinMilliseconds: Int64?
  /// The client addresses of sessions that must not be cut.
  package var sessions: [IPAddress]

  /// The time after which the previous set is active again unless `confirm` was called; `nil`: active permanently.
  package var confirmWithin: Duration? { confirmWithinMilliseconds.map { .milliseconds($0) } }

  package init(files: [File], confirmWithin: Duration? = nil, sessions: [IPAddress] = []) {
    self.files = files
    confirmWithinMilliseconds = confirmWithin?.milliseconds
    self.sessions = sessions
  }

  package static let longestTrial = Duration.seconds(86_400)

  private enum CodingKeys: String, CodingKey {
    case files
    case confirmWithinMilliseconds = "confirm-within-ms"
    case sessions
  }

  /// Rejects an invalid list of files, or an invalid time: the names become paths.
  func check() throws(RequestError) {
    for file in files {
      let name = file.name
      guard !name.isEmpty, name.utf8.count <= 200, !name.hasPrefix("."),
        name.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0 != "/" && $0.value != 0x7f })
      else { throw RequestError(code: .badRequest, message: "\"\(name)\" is not a valid policy file name") }
    }
    guard !files.isEmpty, Set(files.map(\.name)).count == files.count else {
      throw RequestError(code: .badRequest, message: "`files` must list files with distinct names")
    }
    if let confirmWithin, confirmWithin <= .zero || confirmWithin > Self.longestTrial {
      throw RequestError(code: .badRequest, message: "`confirm-within-ms` must be at most a day")
    }
  }
}
