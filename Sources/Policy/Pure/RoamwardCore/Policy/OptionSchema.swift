package import JSON

/// A JSON Schema of the keywords that a manifest may use. Each keyword that is accepted is checked.
package struct OptionSchema: Hashable, Sendable {
  package indirect enum Kind: Hashable, Sendable {
    /// Its properties in the order of the manifest, and whether others are allowed.
    case object([Property], allowsOthers: Bool)
    /// The items, and how many there may be.
    case array(OptionSchema, atMost: Int)
    /// The form of a text, and its length in characters.
    case string(Format?, ClosedRange<Int>)
    case integer(ClosedRange<Int64>)
    case number(ClosedRange<Double>)
    case boolean
  }

  package struct Property: Hashable, Sendable {
    package let name: String
    package let isRequired: Bool
    package let schema: OptionSchema

    package init(name: String, isRequired: Bool, schema: OptionSchema) {
      self.name = name
      self.isRequired = isRequired
      self.schema = schema
    }
  }

  /// The form of a text.
  package enum Format: String, Equatable, Sendable, CaseIterable {
    /// An IP address.
    case address
    /// ADDRESS/LENGTH, without the bits of the host.
    case prefix
    /// ADDRESS/LENGTH, with the bits of the host.
    case interfaceAddress = "interface-address"
    /// A domain name.
    case domain
    /// HOST:PORT.
    case endpoint
    /// An http or https URL.
    case url
  }

  package let kind: Kind
  /// One line: what the option is.
  package let about: String?
  /// The texts that are allowed; `nil`: any.
  package let choices: [String]?
  /// The value of an option that is absent.
  package let standard: JSON?

  package init(kind: Kind, about: String?, choices: [String]?, standard: JSON?) {
    self.kind = kind
    self.about = about
    self.choices = choices
    self.standard = standard
  }

  /// The properties of an object, and whether it allows others.
  package var properties: (declared: [Property], allowsOthers: Bool) {
    if case .object(let properties, let allowsOthers) = kind { (properties, allowsOthers) } else { ([], false) }
  }
}
