import NetworkTypes
import RoamwardCore

extension ValueReader where Value == String {
  /// A reader of the text of a valid value, for the form that the fact table declares.
  static func text(of form: WrittenForm) -> ValueReader {
    switch form {
    case .flag: ValueReader<Bool>.boolean.text
    case .word(let words): word(of: words)
    case .line: line
    case .ssid: ValueReader<SSID>.ssid.text
    case .wantedSSID: ValueReader<SSID>.ssidCriterion.text
    case .ssidPattern: ValueReader<Glob>.ssidGlob.text
    case .linkPattern: ValueReader<Glob>.interfaceCriterion.text
    case .hardwareAddress: ValueReader<MACAddress>.mac.text
    case .address: ValueReader<IPAddress>.address.text
    case .gatewayAddress: ValueReader<IPAddress>.gatewayCriterion.text
    case .interfaceAddress: ValueReader<InterfaceAddress>.interfaceAddress.text
    case .prefix: ValueReader<IPPrefix>.prefix.text
    case .domain: ValueReader<DomainName>.domain.text
    case .domainPattern: ValueReader<DomainPattern>.domainPattern.text
    case .userName: userName.text
    case .localTime: ValueReader<LocalTime>.localTime.text
    }
  }
}

extension ValueReader where Value == FactValue {
  /// A reader of a fact's value, by its declaration.
  static func known(_ fact: FactDeclaration) -> ValueReader {
    if case .flag = fact.form { return ValueReader<Bool>.boolean.map { .flag($0) } }
    let text = ValueReader<String>.text(of: fact.form)
    return fact.isList ? ValueReader<[String]>.oneOrMore(text).map { .list($0) } : text.map { .text($0) }
  }
}

extension ValueReader {
  /// The text of the value.
  fileprivate var text: ValueReader<String> {
    let read = self.read
    return ValueReader<String>(expected: expected, schema: schema) { node, reading in
      guard read(node, &reading) != nil, case .scalar(let text, _) = node.content else { return nil }
      return text
    }
  }
}

extension WrittenForm {
  /// The expected form behind `--set`.
  var expectedSetting: String {
    switch self {
    case .address: "an IP address"
    case .domain: "a domain name"
    case .localTime: "a day and a time, such as \"mon 09:30\""
    default: ValueReader<String>.text(of: self).expected
    }
  }
}

extension FactDeclaration {
  /// The default in a snapshot file, if there is one.
  var standard: String? {
    switch silence {
    case .means(.flag(let value)): String(value)
    case .means(.text(let text)): text
    case .means, .isUnknown, .never: nil
    }
  }
}
