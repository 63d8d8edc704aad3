/// The settings of the page: one line for each, in the file `page` of the gateway's folder.
package struct PageSettings: Hashable, Sendable, LosslessStringConvertible {
  /// The TCP port at the gateway's addresses inside the tunnel.
  package var port: UInt16
  /// Members of this group see everything, end sessions, lock users and invite them; `nil`: the page has none.
  package var administrators: GatewayName?
  /// Members of this group see everything, and end sessions; `nil`: the page has none.
  package var operators: GatewayName?
  /// Further names of the page, besides the gateway's addresses inside the tunnel.
  package var names: [String]
  /// The title that people see: a company, say; `nil`: the page has none.
  package var title: String?

  package init(
    port: UInt16 = 80, administrators: GatewayName? = nil, operators: GatewayName? = nil, names: [String] = [], title: String? = nil
  ) {
    self.port = port
    self.administrators = administrators
    self.operators = operators
    self.names = names
    self.title = title
  }

  /// Whether a title is one line that fits on a phone.
  package static func isTitle(_ text: String) -> Bool {
    (1...64).contains(text.count) && text.unicodeScalars.allSatisfy { $0.properties.generalCategory != .control }
      && text.first != " " && text.last != " "
  }

  package var description: String {
    "port \(port)\n" + (administrators.map { "administrators \($0)\n" } ?? "")
      + (operators.map { "operators \($0)\n" } ?? "")
      + names.map { "name \($0)\n" }.joined() + (title.map { "title \($0)\n" } ?? "")
  }

  /// `nil`: a line is none of these.
  package init?(_ text: String) {
    self.init()
    for line in text.split(separator: "\n") {
      let words = line.split(separator: " ", maxSplits: 1).map(String.init)
      guard words.count == 2 else { return nil }
      switch words[0] {
      case "port":
        guard let port = UInt16(words[1]), port > 0 else { return nil }
        self.port = port
      case "administrators":
        guard let group = GatewayName(words[1]) else { return nil }
        administrators = group
      case "operators":
        guard let group = GatewayName(words[1]) else { return nil }
        operators = group
      // Written by builds whose page had a limit of its own: another one than the default is to be set again
      // (`set settings.everybody.devices`).
      case "devices": guard words[1] == "\(Settings.usualDeviceLimit)" else { return nil }
      case "name":
        if words[1].contains(" ") { return nil }
        names.append(words[1])
      case "title":
        guard Self.isTitle(words[1]) else { return nil }
        title = words[1]
      default: return nil
      }
    }
  }

  /// The page's values of `Host`: port 80 is not written (RFC 9110 section 7.2).
  package func hosts(of addresses: [String]) -> [String] { (addresses + names).map { port == 80 ? $0 : "\($0):\(port)" } }
}

/// The permission of a person on the page; a more powerful one compares as greater.
package enum PageRole: Int, Hashable, Sendable, Comparable {
  /// See and change the person's own devices.
  case user
  /// See everything, and end sessions.
  case `operator`
  /// Lock and invite users as well.
  case administrator

  package static func < (a: Self, b: Self) -> Bool { a.rawValue < b.rawValue }
}

extension Directory {
  /// The role of a user, and the group that gives it.
  package func role(of user: Int64, in settings: PageSettings?) -> (role: PageRole, group: GatewayName?) {
    for (role, name) in [(PageRole.administrator, settings?.administrators), (.operator, settings?.operators)] {
      if let name, let group = group(named: name), isMember(user, of: group.id) { return (role, name) }
    }
    return (.user, nil)
  }
}
