/// Patterns of the schema: of the same texts as the readers take, in the part of regular expressions that all validators share.
enum SchemaPattern {
  private static let octet = "(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9]?[0-9])"
  private static let v4 = "\(octet)(\\.\(octet)){3}"
  private static let v6: String = {
    let group = "[0-9A-Fa-f]{1,4}"
    let end = "(:\(group))"
    var forms = ["(\(group):){7}\(group)", "(\(group):){6}\(v4)", "(\(group):){1,7}:", "::(\(group):){0,5}\(v4)", ":\(end){1,7}", "::"]
    for count in 1...6 { forms.append("(\(group):){1,\(count)}\(end){1,\(7 - count)}") }
    for count in 1...5 { forms.append("(\(group):){\(count)}:(\(group):){0,\(5 - count)}\(v4)") }
    return "(\(forms.joined(separator: "|")))"
  }()
  private static let domain = "([0-9A-Za-z_-]{1,63}\\.)*[0-9A-Za-z_-]{1,63}\\.?"
  private static let port = "(\(number(1...65535)))"

  static let address = whole("\(v4)|\(v6)")
  /// An address, with or without a length.
  static let prefix = whole(prefixes)
  static let destination = whole("default|\(prefixes)")
  static let dnsServer = whole("\(prefixes)|(\(octet)\\.){1,3}\\*")
  static let domainName = whole(domain)
  static let domainPattern = whole("\\*|(\\*\\.)?\(domain)")
  static let routedDomain = whole("(\\*\\.)?\(domain)")
  static let matchDomain = whole("\\.|\\*|(\\*\\.)?\(domain)")
  static let proxyException = whole("\(prefixes)|\\*|(\\*\\.)?\(domain)")
  /// 1 to 15 printable characters without `/` and `:`; not `.` and `..`.
  static let linkName = whole(
    "[!-,0-9;-~-]|[!-,0-9;-~-][!-.0-9;-~]|\\.[!-,0-9;-~-]|[!-.0-9;-~]{3,15}")
  static let line = "^[^\\n]+\\n?$"
  static let text = "^[^\\n]+$"
  static let ssid = whole("hex:([0-9A-Fa-f]{2}){1,32}|(?!hex:)[\\s\\S]{1,32}")
  static let networkName = "^[^ \\t\\n]([^\\t\\n]{0,62}[^ \\t\\n])?$"
  static let tunnelName = "^[0-9A-Za-z_][0-9A-Za-z._-]{0,63}$"
  static let unit = "^(?!-)[0-9A-Za-z:_.\\\\@-]{1,247}\\.(service|target)$"
  static let app =
    "^(cgroup:/[!#-~]{1,1000}|/[^\\n]{0,4094}[^\\n/]|(?![-.])[0-9A-Za-z:_.\\\\@-]{1,247}\\.(service|scope|slice))$"
  static let userName = "^(?![0-9]+$)(?!-)[^\\u0000- \\u007f:/]{1,256}$"
  static let credential = "^(?!kept$)[a-z][a-z0-9.-]{0,63}$"
  static let webAddress = whole(url)
  static let endpoint = whole("(\(endpointHost)):0*\(port)")
  static let proxyServer = whole("(\(endpointHost)):0*\(port)|\(url)")
  static let webServer = whole("\(v4)|\(v6)|\(nameOfHost)|(\(endpointHost)):0*\(port)")
  /// One line that no shell reads.
  static let command = "^[ \\n]*[^ \\n'\"\\\\`$|&;<>()*?~][^'\"\\\\`$|&;<>()*?~]*$"

  private static let prefixes =
    "\(v4)(/(3[0-2]|[12]?[0-9]))?|\(v6)(/(12[0-8]|1[01][0-9]|[1-9]?[0-9]))?"
  /// A name that is not made of digits and dots alone.
  private static let nameOfHost = "(?![0-9.]+(:|$))\(domain)"
  private static let endpointHost = "\(v4)|\\[\(v6)\\]|\(nameOfHost)"
  private static let url =
    "[Hh][Tt][Tt][Pp][Ss]?://(\\[(\(v4)|\(v6))\\]|\(domain))(:0*\(port))?([/?][!$-;=?-\\[\\]_a-z~]*)?"

  private static func whole(_ pattern: String) -> String { "^(\(pattern))$" }

  /// The numbers of a range in decimal digits, without zeros in front.
  static func number(_ range: ClosedRange<Int>) -> String {
    var parts: [String] = []
    var low = range.lowerBound
    while low <= range.upperBound {
      // The widest block from here whose last digits are free.
      var (free, size) = (0, 1)
      while low.isMultiple(of: size * 10), low > 0, low + size * 10 - 1 <= range.upperBound,
        String(low).count == String(low + size * 10 - 1).count
      {
        (free, size) = (free + 1, size * 10)
      }
      let head = low / size
      // Neighbours that differ in the last fixed digit alone.
      let last = min(head - head % 10 + 9, (range.upperBound - size + 1) / size)
      let stem = head < 10 ? "" : String(head / 10)
      let digits = last > head ? "[\(head % 10)-\(last % 10)]" : String(head % 10)
      parts.append(stem + digits + (free == 0 ? "" : free == 1 ? "[0-9]" : "[0-9]{\(free)}"))
      low = (max(last, head) + 1) * size
    }
    return parts.joined(separator: "|")
  }
}
