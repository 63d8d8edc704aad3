/// A value of a property list (or of equivalent JSON), and its place.
package struct Property: Hashable, Sendable {
  package indirect enum Content: Hashable, Sendable {
    case string(String)
    case integer(Int64)
    case real(Double)
    case boolean(Bool)
    case data([UInt8])
    /// As written; dates are not evaluated here.
    case date(String)
    case array([Property])
    /// Entries in the order of the file; no duplicate keys.
    case dictionary([Entry])
  }

  package struct Entry: Hashable, Sendable {
    package var key: String
    package var value: Property

    package init(_ key: String, _ value: Property) {
      self.key = key
      self.value = value
    }
  }

  package var content: Content
  /// The line, from 1; `nil` if the format has no lines.
  package var line: Int?

  package init(_ content: Content, line: Int? = nil) {
    self.content = content
    self.line = line
  }

  /// The kind of value, for a message.
  package var kind: String {
    switch content {
    case .string: "a text"
    case .integer, .real: "a number"
    case .boolean: "true or false"
    case .data: "data"
    case .date: "a date"
    case .array: "a list"
    case .dictionary: "a dictionary"
    }
  }

  package var entries: [Entry]? { if case .dictionary(let entries) = content { entries } else { nil } }
  package var items: [Property]? { if case .array(let items) = content { items } else { nil } }
  package var text: String? { if case .string(let text) = content { text } else { nil } }

  package subscript(key: String) -> Property? { entries?.first { $0.key == key }?.value }
}

/// Limits of the work that a file can cause.
package enum ImportLimits {
  /// The size of a file in bytes.
  package static let file = 16 << 20
  package static let depth = 64
  package static let nodes = 200_000
  /// Bytes of all texts and data together: a binary list may refer to one text from many places.
  package static let contents = 64 << 20
}

/// The reason why nothing of a file can be imported.
package struct ImportFailure: Error, Equatable, Sendable {
  /// One line, lower case, without a full stop. It never contains a secret.
  package var message: String
  package var help: String?
  package var line: Int?

  package init(_ message: String, help: String? = nil, line: Int? = nil) {
    self.message = message
    self.help = help
    self.line = line
  }
}
