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

/// The options of an installed provider that one start of a tunnel may set.
package struct StartableOptions: Hashable, Sendable {
  /// The options that the provider's manifest declares; `nil`: the manifest was not read.
  package var schema: OptionSchema?
  /// The names that every user may set who may connect the tunnel; `password` is the credential of that name.
  package var ofUsers: [String]

  package init(schema: OptionSchema? = nil, ofUsers: [String] = []) {
    self.schema = schema
    self.ofUsers = ofUsers
  }

  /// The members of an object that the provider declares.
  func declared(among options: JSON) -> JSON {
    guard let (declared, allowsOthers) = schema?.properties, !allowsOthers else { return options }
    return .object((options.members ?? []).filter { member in declared.contains { $0.name == member.key } })
  }

  /// The word for the credential `password` among the options of users. No option has it: policies hold no secrets.
  package static let password = "password"
}
