package import NetworkTypes

/// What `apply` asks for: these files over the policies in force.
package struct ApplyRequest: Hashable, Sendable {
  /// A policy, or a file that a policy beside it names.
  package struct File: Hashable, Sendable {
    /// Without a folder.
    package var name: String
    package var text: String

    package init(name: String, text: String) {
      self.name = name
      self.text = text
    }
  }

  package var files: [File]
  /// Seconds after which the last set comes back unless `confirm` was said; `nil`: in force for good.
  package var confirmWithin: Int64?
  /// Where sessions come from that must not be cut.
  package var sessions: [IPAddress]

  package init(files: [File], confirmWithin: Int64? = nil, sessions: [IPAddress] = []) {
    self.files = files
    self.confirmWithin = confirmWithin
    self.sessions = sessions
  }

  /// Seconds; a day.
  package static let longestTrial: Int64 = 86_400

  var json: JSON {
    [
      "command": "apply", "files": .array(files.map { ["name": .string($0.name), "text": .string($0.text)] }),
      "confirmWithin": confirmWithin.map { .integer($0) } ?? .null, "sessions": JSON(sessions.map(\.description)),
    ]
  }

  init(_ json: JSON) throws(RequestError) {
    var files: [File] = []
    for file in json["files"]?.array ?? [] {
      guard let name = file["name"]?.string, let text = file["text"]?.string else {
        throw RequestError(code: .badRequest, message: "each of `files` has a `name` and a `text`")
      }
      guard !name.isEmpty, name.utf8.count <= 200, !name.hasPrefix("."),
        name.unicodeScalars.allSatisfy({ $0.value > 0x20 && $0 != "/" && $0.value != 0x7f })
      else { throw RequestError(code: .badRequest, message: "\"\(name)\" is no name for a file of policies") }
      files.append(File(name: name, text: text))
    }
    guard !files.isEmpty, Set(files.map(\.name)).count == files.count else {
      throw RequestError(code: .badRequest, message: "`files` is a list of files of different names")
    }
    let within = json["confirmWithin"]?.integer
    guard within.map({ (1...Self.longestTrial).contains($0) }) ?? true else {
      throw RequestError(code: .badRequest, message: "`confirmWithin` is a number of seconds up to a day")
    }
    self.init(files: files, confirmWithin: within, sessions: json.sessions)
  }
}

extension JSON {
  /// The `sessions` of a request.
  var sessions: [IPAddress] { (self["sessions"]?.array ?? []).compactMap { $0.string.flatMap { IPAddress($0) } } }
}
