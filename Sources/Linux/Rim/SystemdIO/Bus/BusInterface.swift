/// The declaration of a D-Bus interface: what introspection shows, and what calls are checked against.
package struct BusInterface: Equatable, Sendable {
  /// An argument of a method or a signal, or a property.
  package struct Value: Hashable, Sendable {
    package let name: String
    /// The type in the D-Bus specification.
    package let type: String

    package init(_ name: String, _ type: String) {
      self.name = name
      self.type = type
    }
  }

  package struct Method: Equatable, Sendable {
    package let name: String
    package let arguments: [Value]
    package let results: [Value]

    package init(_ name: String, _ arguments: [Value] = [], results: [Value] = []) {
      self.name = name
      self.arguments = arguments
      self.results = results
    }
  }

  package struct Signal: Equatable, Sendable {
    package let name: String
    package let arguments: [Value]

    package init(_ name: String, _ arguments: [Value] = []) {
      self.name = name
      self.arguments = arguments
    }
  }

  package let name: String
  package let methods: [Method]
  /// All are read-only, and announce their changes.
  package let properties: [Value]
  package let signals: [Signal]

  package init(_ name: String, methods: [Method] = [], properties: [Value] = [], signals: [Signal] = []) {
    self.name = name
    self.methods = methods
    self.properties = properties
    self.signals = signals
  }

  /// Its element in introspection data (D-Bus specification, "Introspection Data Format"). Names have no character that XML escapes.
  var introspection: String {
    func element(_ value: Value, _ direction: String?) -> String {
      "      <arg name=\"\(value.name)\" type=\"\(value.type)\"\(direction.map { " direction=\"\($0)\"" } ?? "")/>\n"
    }
    var text = "  <interface name=\"\(name)\">\n"
    for method in methods {
      text += "    <method name=\"\(method.name)\">\n"
      text += method.arguments.map { element($0, "in") }.joined() + method.results.map { element($0, "out") }.joined()
      text += "    </method>\n"
    }
    for signal in signals {
      text += "    <signal name=\"\(signal.name)\">\n" + signal.arguments.map { element($0, nil) }.joined() + "    </signal>\n"
    }
    for property in properties { text += "    <property name=\"\(property.name)\" type=\"\(property.type)\" access=\"read\"/>\n" }
    return text + "  </interface>\n"
  }

  /// The interfaces that every object has (D-Bus specification, "Standard Interfaces").
  static let standard = [
    BusInterface("org.freedesktop.DBus.Introspectable", methods: [Method("Introspect", results: [Value("xml_data", "s")])]),
    BusInterface(
      "org.freedesktop.DBus.Properties",
      methods: [
        Method("Get", [Value("interface_name", "s"), Value("property_name", "s")], results: [Value("value", "v")]),
        Method("GetAll", [Value("interface_name", "s")], results: [Value("props", "a{sv}")]),
        Method("Set", [Value("interface_name", "s"), Value("property_name", "s"), Value("value", "v")]),
      ],
      signals: [
        Signal(
          "PropertiesChanged", [Value("interface_name", "s"), Value("changed_properties", "a{sv}"), Value("invalidated_properties", "as")])
      ]),
  ]

  /// The interface of the topmost object.
  static let objectManager = BusInterface(
    "org.freedesktop.DBus.ObjectManager",
    methods: [Method("GetManagedObjects", results: [Value("object_paths_interfaces_and_properties", "a{oa{sa{sv}}}")])],
    signals: [
      Signal("InterfacesAdded", [Value("object_path", "o"), Value("interfaces_and_properties", "a{sa{sv}}")]),
      Signal("InterfacesRemoved", [Value("object_path", "o"), Value("interfaces", "as")]),
    ])
}

/// The name of an object below a path: any text as letters and digits, other bytes as `_` and two hexadecimal digits (as
/// sd_bus_path_encode(3)).
package func busPathElement(_ text: String) -> String {
  if text.isEmpty { return "_" }
  let digits = Array("0123456789abcdef".utf8)
  var bytes: [UInt8] = []
  for (i, byte) in text.utf8.enumerated() {
    let isDigit = (48...57).contains(byte)
    if (65...90).contains(byte) || (97...122).contains(byte) || (isDigit && i > 0) {
      bytes.append(byte)
    } else {
      bytes += [UInt8(ascii: "_"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
    }
  }
  return String(decoding: bytes, as: UTF8.self)
}
