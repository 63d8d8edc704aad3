package import NetworkTypes

/// What `apply` asks for: these files over the policies in force.
package struct ApplyRequest: Hashable, Sendable, Codable {
  /// A policy, or a file that a policy beside it names.
  package struct File: Hashable, Sendable, Codable {
    /// Without a folder.
    package var name: String
    package var text: String

    package init(name: String, text: String) {
      self.name = name
      self.text = text
    }
  }

  package var files: [File]
  /// Milliseconds after which the last set comes back unless `confirm` was said; `nil`: in force for good.
  private var confirmWithinMilliseconds: Int64?
  /// Where sessions come from that must not be cut.
  package var sessions: [IPAddress]

  /// The time after which the last set comes back unless `confirm` was said; `nil`: in force for good.
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

  /// Refuses what is no list of files, or no time: the names become paths.
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
