import NetworkTypes

/// A fact's value without its type: what snapshot files, JSON and `--set` hold.
package enum FactValue: Hashable, Sendable {
  /// Known not to be there: the SSID of a cable.
  case absent
  case flag(Bool)
  case text(String)
  case list([String])
}

/// What is written for a value, or for what a key of a match compares a value with. Who reads files has a reader for each form.
package enum WrittenForm: Hashable, Sendable {
  /// `true` or `false`.
  case flag
  /// One word of an enumeration, in its order.
  case word([String])
  /// One line of text that is not empty.
  case line
  case ssid, ssidPattern
  /// An SSID in a match, where patterns and exceptions are written otherwise.
  case wantedSSID
  case linkPattern
  case hardwareAddress
  case address
  /// An address that a default gateway may have.
  case gatewayAddress
  case interfaceAddress
  case prefix
  case domain, domainPattern
  /// `mon 09:30`.
  case localTime

  /// The words of an enumeration.
  package static func word<Word: CaseIterable & RawRepresentable>(of type: Word.Type) -> WrittenForm where Word.RawValue == String {
    .word(type.allCases.map(\.rawValue))
  }
}

/// How values of one type are written and told to people.
struct ValueCode<Value: Hashable & Sendable>: Sendable {
  let form: WrittenForm
  /// Several values of the form.
  var isList = false
  /// `nil` for what is no value of the type.
  let read: @Sendable (FactValue) -> Value?
  let write: @Sendable (Value) -> FactValue
  /// For people: `yes`, `"Cafe"`, `none`.
  let text: @Sendable (Value) -> String
}

extension ValueCode where Value == Bool {
  static let flag = ValueCode(
    form: .flag, read: { if case .flag(let value) = $0 { value } else { nil } }, write: { .flag($0) }, text: { $0 ? "yes" : "no" })
}

extension ValueCode where Value: CaseIterable & RawRepresentable, Value.RawValue == String {
  /// A word of an enumeration.
  static var word: ValueCode {
    ValueCode(
      form: .word(of: Value.self), read: { if case .text(let word) = $0 { Value(rawValue: word) } else { nil } },
      write: { .text($0.rawValue) },
      text: \.rawValue)
  }
}

extension ValueCode {
  /// One value that text stands for.
  static func text(
    _ form: WrittenForm, _ parse: @escaping @Sendable (String) -> Value?, _ print: @escaping @Sendable (Value) -> String,
    text: (@Sendable (Value) -> String)? = nil
  ) -> ValueCode {
    ValueCode(
      form: form, read: { if case .text(let text) = $0 { parse(text) } else { nil } }, write: { .text(print($0)) }, text: text ?? print)
  }

  /// A value that may be known not to be there: `none`.
  static func optional<Known>(_ known: ValueCode<Known>) -> ValueCode where Value == Known? {
    ValueCode(
      form: known.form, read: { $0 == .absent ? .some(nil) : known.read($0).map { .some($0) } }, write: { $0.map(known.write) ?? .absent },
      text: { $0.map(known.text) ?? "none" })
  }

  /// Any number of values, in their order.
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
