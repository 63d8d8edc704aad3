import NetworkTypes

/// A fact's value without its type, as in snapshot files, JSON and `--set`.
package enum FactValue: Hashable, Sendable {
  /// Known to be absent: the SSID of a wired link.
  case absent
  case flag(Bool)
  case text(String)
  case list([String])
}

/// The text form of a value, or of the value of a key. The file readers have a reader for each form.
package enum WrittenForm: Equatable, Sendable {
  /// `true` or `false`.
  case flag
  /// One word of an enumeration, in its order.
  case word([String])
  /// One line of text that is not empty.
  case line
  case ssid, ssidPattern
  /// An SSID in a match, with a different syntax for patterns and exceptions.
  case wantedSSID
  case linkPattern
  case hardwareAddress
  case address
  /// An address that a default gateway may have.
  case gatewayAddress
  case interfaceAddress
  case prefix
  case domain, domainPattern
  /// The name of a user of this machine.
  case userName
  /// `mon 09:30`.
  case localTime

  /// The form with the words of an enumeration.
  package static func word<Word: CaseIterable & RawRepresentable>(of type: Word.Type) -> WrittenForm where Word.RawValue == String {
    .word(type.allCases.map(\.rawValue))
  }
}

/// The text form and the display of values of one type.
struct ValueCode<Value: Equatable & Sendable>: Sendable {
  let form: WrittenForm
  /// Whether there are several values of the form.
  var isList = false
  /// Converts a value; `nil` if it is not of the type.
  let read: @Sendable (FactValue) -> Value?
  let write: @Sendable (Value) -> FactValue
  /// The text for people: `yes`, `"Cafe"`, `none`.
  let text: @Sendable (Value) -> String
}

extension ValueCode where Value == Bool {
  static let flag = ValueCode(
    form: .flag, read: { if case .flag(let value) = $0 { value } else { nil } }, write: { .flag($0) }, text: { $0 ? "yes" : "no" })
}

extension ValueCode where Value: CaseIterable & RawRepresentable, Value.RawValue == String {
  /// The code of a word of an enumeration.
  static var word: ValueCode {
    ValueCode(
      form: .word(of: Value.self), read: { if case .text(let word) = $0 { Value(rawValue: word) } else { nil } },
      write: { .text($0.rawValue) },
      text: \.rawValue)
  }
}

extension ValueCode {
  /// The code of one value that converts to and from text.
  static func text(
    _ form: WrittenForm, _ parse: @escaping @Sendable (String) -> Value?, _ print: @escaping @Sendable (Value) -> String,
    text: (@Sendable (Value) -> String)? = nil
  ) -> ValueCode {
    ValueCode(
      form: form, read: { if case .text(let text) = $0 { parse(text) } else { nil } }, write: { .text(print($0)) }, text: text ?? print)
  }

  /// The code of a value that may be known to be absent: `none`.
  static func optional<Known>(_ known: ValueCode<Known>) -> ValueCode where Value == Known? {
    ValueCode(
      form: known.form, read: { $0 == .absent ? .some(nil) : known.read($0).map { .some($0) } }, write: { $0.map(known.write) ?? .absent },
      text: { $0.map(known.text) ?? "none" })
  }

  /// The code of any number of values, in their order.
  static func list<Item: LosslessStringConvertible>(_ form: WrittenForm) -> ValueCode where Value == [Item] {
    ValueCode(
      form: form, isList: true,
      read: { value in
        guard case .list(let texts) = value else { return nil }
        let items = texts.compactMap { Item($0) }
        return items.count == texts.count ? items : nil
      }, write: { .list($0.map(\.description)) }, text: { $0.isEmpty ? "none" : $0.map(\.description).joined(separator: ", ") })
  }
}
