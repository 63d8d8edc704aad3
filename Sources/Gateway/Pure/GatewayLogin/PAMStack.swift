package import GatewayCore

/// The modules that a PAM service runs for a check: its stacks `auth` and `account`, with the lines that name the modules (pam.d(5)).
/// Included files are followed. Reads nothing by itself.
package struct PAMStack: Hashable, Sendable {
  package struct Module: Hashable, Sendable {
    /// `FILE:LINE`, for people.
    package let place: String
    package let kind: Kind
    /// As the line has it: a name of a file in the folder of modules, or a path.
    package let name: String
    package let arguments: [String]
    /// A missing one is skipped (a `-` before the kind).
    package let isOptional: Bool

    /// The name without folder and `.so`.
    package var baseName: String {
      let file = name.split(separator: "/").last.map(String.init) ?? name
      return file.hasSuffix(".so") ? String(file.dropLast(3)) : file
    }
  }

  package enum Kind: String, Hashable, Sendable, CaseIterable { case auth, account }

  package private(set) var modules: [Module] = []

  /// Of included files in one another, as libpam has it.
  private static let depthLimit = 16
  private static let moduleLimit = 256

  /// - Parameter read: the text of a service's file, with its path; `nil`: there is none.
  package init(service: String, read: (String) -> (path: String, text: String)?) throws(GatewayError) {
    guard let file = read(service) else {
      throw GatewayError(
        "pam: there is no file /etc/pam.d/\(service)", help: "write it; docs/gateway.md has examples for LDAP and RADIUS")
    }
    for kind in Kind.allCases {
      let before = modules.count
      try add(file, kind, read, depth: 0)
      // libpam takes this file's then.
      if modules.count == before, let other = read("other") { try add(other, kind, read, depth: 0) }
      guard modules.count > before else {
        throw GatewayError("pam: \(file.path) has no line for `\(kind.rawValue)`", help: "add one; without it, every login fails")
      }
    }
  }

  private mutating func add(
    _ file: (path: String, text: String), _ kind: Kind, _ read: (String) -> (path: String, text: String)?, depth: Int
  ) throws(GatewayError) {
    for (number, text) in Self.lines(of: file.text) {
      let place = "\(file.path):\(number)"
      guard let line = Line(text) else { continue }
      guard line.isWhole else { throw GatewayError("pam: \(place): the line is not complete", help: "see pam.d(5)") }
      guard line.kind == nil || line.kind == kind.rawValue else { continue }
      guard let included = line.included else {
        modules.append(
          Module(place: place, kind: kind, name: line.target, arguments: line.arguments, isOptional: line.isOptional))
        guard modules.count <= Self.moduleLimit else { throw GatewayError("pam: \(place): too many modules", help: "use fewer") }
        continue
      }
      guard depth < Self.depthLimit else {
        throw GatewayError("pam: \(place): files include one another more than \(Self.depthLimit) deep", help: "remove the circle")
      }
      guard let next = read(included) else {
        throw GatewayError("pam: \(place): there is no file \(included)", help: "write it, or remove the line")
      }
      try add(next, kind, read, depth: depth + 1)
    }
  }

  /// The lines with their numbers, those together that a backslash continues.
  private static func lines(of text: String) -> [(Int, String)] {
    var found: [(Int, String)] = []
    var open: (Int, String)?
    for (number, line) in zip(1..., text.split(separator: "\n", omittingEmptySubsequences: false)) {
      let plain = line.prefix { $0 != "#" }
      let (first, begun) = open ?? (number, "")
      if plain.last == "\\" {
        open = (first, begun + plain.dropLast() + " ")
      } else {
        found.append((first, begun + plain))
        open = nil
      }
    }
    if let open { found.append(open) }
    return found
  }

  /// A line of a file in /etc/pam.d.
  private struct Line {
    /// `nil`: of every kind (`@include`).
    var kind: String?
    var isOptional = false
    var included: String?
    var target = ""
    var arguments: [String] = []
    var isWhole = true

    init?(_ text: String) {
      var words = Line.words(text)[...]
      guard var first = words.popFirst() else { return nil }
      if first == "@include" {
        included = words.first
        isWhole = included != nil
        return
      }
      if first.first == "-" {
        isOptional = true
        first.removeFirst()
      }
      kind = first.lowercased()
      guard let control = words.popFirst(), let target = words.popFirst() else {
        isWhole = false
        return
      }
      self.target = target
      arguments = Array(words)
      if control.lowercased() == "include" || control.lowercased() == "substack" { included = target }
    }

    /// Words, of which one in brackets may have spaces.
    private static func words(_ text: String) -> [String] {
      var (found, word, depth) = ([String](), "", false)
      for character in text {
        switch character {
        case "[" where word.isEmpty && !depth: (depth, word) = (true, "[")
        case "]" where depth: (depth, word) = (false, word + "]")
        case " ", "\t", "\r":
          if depth {
            word.append(character)
          } else if !word.isEmpty {
            found.append(word)
            word = ""
          }
        default: word.append(character)
        }
      }
      return word.isEmpty ? found : found + [word]
    }
  }
}

// Problems of modules in a process without privileges.
extension PAMStack {
  /// Modules that need root, or another program, to check a password; with the reason.
  private static let impossible: [(names: Set<String>, reason: String)] = [
    (
      ["pam_unix", "pam_unix_acct", "pam_unix_auth", "pam_unix2", "pam_pwdb", "pam_tcb"],
      "reads /etc/shadow, which root alone can; it would need a program that runs as root"
    ),
    (
      ["pam_faillock", "pam_tally", "pam_tally2", "pam_abl", "pam_lastlog", "pam_timestamp"],
      "keeps its counts in files that root alone can write; the gateway limits attempts itself"
    ),
    (["pam_exec", "pam_script", "pam_mount", "pam_systemd_home"], "starts programs, or asks services for root alone"),
    (["pam_google_authenticator", "pam_oath"], "reads and writes secrets of users; `roamward-gateway user set --totp` asks for codes"),
    (["pam_rootok", "pam_wheel", "pam_rhosts"], "lets in by who runs the program, and not by a password"),
  ]

  /// The first problem, with file, line, reason and cure; `nil`: none. `exists`: whether a module's file is there.
  package func fault(exists: (String) -> Bool) -> GatewayError? {
    for module in modules {
      if let (_, reason) = Self.impossible.first(where: { $0.names.contains(module.baseName) }) {
        return GatewayError(
          "pam: \(module.place): \(module.baseName) \(reason)",
          help: "use a service whose modules ask the network (pam_ldap by nslcd, pam_radius_auth); it needs a file of its own")
      }
      guard module.isOptional || exists(module.name) else {
        return GatewayError(
          "pam: \(module.place): the module \(module.name) is missing", help: "install its package, or correct the line")
      }
    }
    guard modules.contains(where: { $0.kind == .auth && !Self.isWithoutCheck($0.baseName) }) else {
      let place = modules.first?.place ?? ""
      return GatewayError("pam: \(place): no module checks the password", help: "add one, such as `auth required pam_ldap.so`")
    }
    return nil
  }

  private static func isWithoutCheck(_ name: String) -> Bool {
    ["pam_permit", "pam_deny", "pam_warn", "pam_env", "pam_echo", "pam_debug", "pam_faildelay", "pam_nologin", "pam_issue"].contains(name)
  }

  /// The configuration of pam_radius_auth, with the line: it has a secret, which the process has to be able to read.
  package var radiusFiles: [(place: String, path: String)] {
    modules.filter { $0.baseName == "pam_radius_auth" }.map { module in
      let path = module.arguments.first { $0.hasPrefix("conf=") }.map { String($0.dropFirst(5)) }
      return (module.place, path ?? "/etc/pam_radius_auth.conf")
    }
  }
}
