internal import NetworkTypes

/// A property list as XML, indented by tabs as Apple's own tools write it. Control characters, which XML cannot contain, become U+FFFD.
package func xmlText(_ root: Property) -> String {
  var text = """
    <?xml version="1.0" encoding="UTF-8"?>
    <!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "http://www.apple.com/DTDs/PropertyList-1.0.dtd">
    <plist version="1.0">

    """
  write(root, indent: "", to: &text)
  return text + "</plist>\n"
}

private func write(_ property: Property, indent: String, to text: inout String) {
  switch property.content {
  case .string(let value): text += "\(indent)<string>\(escaped(value))</string>\n"
  case .integer(let number): text += "\(indent)<integer>\(number)</integer>\n"
  case .real(let number): text += "\(indent)<real>\(number)</real>\n"
  case .boolean(let flag): text += "\(indent)<\(flag)/>\n"
  case .date(let date): text += "\(indent)<date>\(escaped(date))</date>\n"
  case .data(let bytes): text += "\(indent)<data>\(base64(bytes))</data>\n"
  case .array(let items):
    text += "\(indent)<array>\n"
    for item in items { write(item, indent: indent + "\t", to: &text) }
    text += "\(indent)</array>\n"
  case .dictionary(let entries):
    text += "\(indent)<dict>\n"
    for entry in entries {
      text += "\(indent)\t<key>\(escaped(entry.key))</key>\n"
      write(entry.value, indent: indent + "\t", to: &text)
    }
    text += "\(indent)</dict>\n"
  }
}

private func escaped(_ text: String) -> String {
  var result = String.UnicodeScalarView()
  for scalar in text.unicodeScalars {
    switch scalar {
    case "&": result.append(contentsOf: "&amp;".unicodeScalars)
    case "<": result.append(contentsOf: "&lt;".unicodeScalars)
    case ">": result.append(contentsOf: "&gt;".unicodeScalars)
    // A bare carriage return would be read as a line feed.
    case "\r": result.append(contentsOf: "&#13;".unicodeScalars)
    case "\t", "\n": result.append(scalar)
    default: result.append(scalar.value < 0x20 || scalar.value == 0xfffe || scalar.value == 0xffff ? "\u{fffd}" : scalar)
    }
  }
  return String(result)
}
