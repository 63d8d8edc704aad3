import Glibc
import LinuxIO
import Testing

/// The lines for apt and systemctl in the documents against the packages themselves, and the libraries that programs load.
@Suite("Packages as the documents show them") struct ShownPackagesTests {
  /// Units and packages of others that the documents name, and that nothing of ours depends on.
  private static let others: Set = [
    "wireguard", "dbus", "keepalived", "conntrackd", "wg-quick@work", "prometheus", "roamward-gateway-metrics", "--now", "transmission",
  ]

  private static func text(_ path: String) throws -> String {
    String(decoding: try TextFile.read("\(PureRingsTests.root)/\(path)"), as: UTF8.self)
  }

  /// README.md, CONTRIBUTING.md and the pages of docs, without decisions, by their paths.
  private static var documents: [String] {
    let folders = ["docs", "docs/how-to", "docs/man"]
    return ["README.md", "CONTRIBUTING.md"]
      + folders.flatMap { folder in
        Folder.names(in: "\(PureRingsTests.root)/\(folder)").filter { $0.hasSuffix(".md") }.map { "\(folder)/\($0)" }
      }
  }

  /// The packages of packaging/debian/control: the names after each field.
  private static func packages() throws -> [String: [String: [String]]] {
    var packages: [String: [String: [String]]] = [:]
    for stanza in try text("packaging/debian/control").split(separator: "\n\n") {
      var fields: [String: [String]] = [:]
      var field = ""
      for line in stanza.split(separator: "\n") where !line.hasPrefix("#") {
        if !line.hasPrefix(" "), let colon = line.firstIndex(of: ":") { field = String(line[..<colon]) }
        let rest = line.hasPrefix(" ") ? line[...] : line[(line.firstIndex(of: ":") ?? line.startIndex)...].dropFirst()
        fields[field, default: []] += rest.split(separator: ",").compactMap { $0.split(separator: " ").first.map(String.init) }
      }
      if let name = fields["Package"]?.first { packages[name] = fields }
    }
    return packages
  }

  /// The words after each occurrence of a command, up to the end of the code.
  private static func words(after command: String, in text: String) -> [[String]] {
    text.split(separator: "\n").map(String.init).flatMap { (line: String) -> [[String]] in
      line.ranges(of: command).map { (range: Range<String.Index>) -> [String] in
        let rest = String(line[range.upperBound..<line.endIndex])
        return rest.prefix { !"`|;&#".contains($0) }.split(separator: " ").map(String.init)
      }
    }
  }

  /// `a{,-b,-c}_*.deb` as bash expands it; one pair of braces.
  static func expanded(_ word: String) -> [String] {
    guard let open = word.firstIndex(of: "{"), let close = word.firstIndex(of: "}"), open < close else { return [word] }
    let parts = word[word.index(after: open)..<close].split(separator: ",", omittingEmptySubsequences: false)
    let (before, after) = (String(word[word.startIndex..<open]), String(word[word.index(after: close)..<word.endIndex]))
    return parts.map { "\(before)\($0)\(after)" }
  }

  /// The faults in the words after `apt install`; `hasSource`: on a page that adds our source of packages.
  private static func faults(
    _ words: [String], _ ours: [String: [String: [String]]], others: Set<String>, hasSource: Bool = false
  ) -> [String] {
    var faults: [String] = []
    var installed: Set<String> = []
    for word in words.flatMap(expanded) {
      guard word.contains("/") else {
        let name = String(word.prefix { $0 != "=" })
        // No other source of packages has ours.
        if ours[name] != nil, !hasSource { faults.append("\(word) is in no package source") }
        if ours[name] == nil, !others.contains(name), !name.hasPrefix("--") { faults.append("\(word) is no known package") }
        continue
      }
      let file = word.split(separator: "/").last.map(String.init) ?? ""
      let name = String(file.prefix { $0 != "_" && $0 != "*" })
      let found = file.hasPrefix("\(name)_") ? ours.keys.filter { $0 == name } : ours.keys.filter { $0.hasPrefix(name) }
      if found.isEmpty { faults.append("there is no package \(name)") }
      installed.formUnion(found)
    }
    for package in installed {
      for needed in ours[package]?["Depends"] ?? [] where ours[needed] != nil && !installed.contains(needed) {
        faults.append("\(package) depends on \(needed)")
      }
    }
    return faults.sorted()
  }

  @Test("apt installs what each line names: files of packages with all that they depend on, and names that Debian has")
  func apt() throws {
    let ours = try Self.packages()
    #expect(ours.count > 8)
    let setup = try Self.text("scripts/setup").split { !($0.isLetter || $0.isNumber || "-.+".contains($0)) }.map(String.init)
    let named = ours.values.flatMap { $0.values.flatMap(\.self) }.filter { ours[$0] == nil }
    let others = Self.others.union(setup).union(named)
    var count = 0
    for path in Self.documents {
      let text = try Self.text(path)
      for words in Self.words(after: "apt install ", in: text) + Self.words(after: "apt-get install ", in: text) {
        count += 1
        let hasSource = text.contains("/etc/apt/sources.list.d/roamward.sources")
        #expect(Self.faults(words, ours, others: others, hasSource: hasSource) == [], "\(path): \(words)")
      }
      for words in ["apt remove ", "apt purge ", "apt-mark hold "].flatMap({ Self.words(after: $0, in: text) }) {
        for word in words where word.hasPrefix("roamward") { #expect(ours[word] != nil, "\(path): \(word)") }
      }
      #expect(!text.contains("name: [roamward"), "\(path): no package source has ours")
    }
    #expect(count > 6)
    // Each fault is seen.
    #expect(Self.faults(["./roamward-client_*.deb"], ours, others: others).count == 2)
    #expect(Self.faults(["roamward", "no-such"], ours, others: others).count == 2)
    #expect(Self.faults(["./roamward{,-common}_*.deb"], ours, others: others) == [])
    #expect(Self.faults(["roamward=1.2-1", "roamward-nosuch"], ours, others: others, hasSource: true).count == 1)
  }

  @Test("each unit that the documents name is one of ours, or a known one of others") func units() throws {
    let content = try Self.text("packaging/content").split(separator: "\n").filter { $0.hasPrefix("unit ") }
    let ours = Set(
      content.compactMap { line in
        line.split(separator: " ").dropFirst().first?.split(separator: "/").last?.split(separator: ".").first.map(String.init)
      })
    #expect(ours.isSuperset(of: ["roamwardd", "roamward-lock", "roamward-gateway", "roamward-desktop"]))
    var count = 0
    for path in Self.documents {
      for verb in ["enable", "disable", "start", "stop", "restart", "reload", "edit"] {
        for words in Self.words(after: "systemctl \(verb) ", in: try Self.text(path)) {
          for word in words.prefix(while: { $0.first?.isLowercase == true || $0 == "--now" }) {
            count += 1
            let name = String(word.prefix { $0.isLetter || $0.isNumber || "-@".contains($0) })
            // An instance, of its template.
            let template = name.contains("@") ? String(name.prefix { $0 != "@" }) + "@" : name
            #expect(ours.contains(template) || Self.others.contains(name), "\(path): systemctl \(verb) \(word)")
          }
        }
      }
    }
    #expect(count > 10)
  }

  @Test("libraries that programs load are those of packaging/loaded-libraries, and the packages ask for them") func libraries() throws {
    let rows = try Self.text("packaging/loaded-libraries").split(separator: "\n").filter { !$0.hasPrefix("#") }
      .map { $0.split(separator: " ").map(String.init) }
    var loaded: Set<String> = []
    for path in Self.sources(in: "\(PureRingsTests.root)/Sources") {
      let text = String(decoding: try TextFile.read(path), as: UTF8.self)
      guard text.contains("dlopen(") || text.contains("ccl_load(") else { continue }
      for literal in text.split(separator: "\"", omittingEmptySubsequences: false).enumerated() where literal.offset % 2 == 1 {
        if literal.element.hasPrefix("lib"), literal.element.contains(".so"), !literal.element.contains(" ") {
          loaded.insert(String(literal.element))
        }
      }
    }
    #expect(loaded == Set(rows.compactMap(\.first)))
    let ours = try Self.packages()
    let specification = try Self.text("packaging/roamward.spec")
    for row in rows {
      try #require(row.count == 6)
      #expect(ours[row[1]]?[row[2]]?.contains(row[3]) == true, "\(row)")
      // Other distributions may have no such package.
      if row[4] == "-" { continue }
      let part = String(row[1].dropFirst("roamward-".count))
      let start = row[1] == "roamward" ? "Name: roamward\n" : "%package \(part)\n"
      let section = specification.firstRange(of: start).map { specification[$0.upperBound...] } ?? ""
      let head = section.firstRange(of: "%description").map { section[..<$0.lowerBound] } ?? ""
      #expect(head.split(separator: "\n").contains { $0 == "\(row[4]): \(row[5])" }, "\(row)")
    }
  }

  /// Every file of C or Swift below a folder.
  private static func sources(in folder: String) -> [String] {
    Folder.names(in: folder).filter { !$0.hasPrefix(".") }.flatMap { name -> [String] in
      let path = "\(folder)/\(name)"
      return name.hasSuffix(".c") || name.hasSuffix(".h") || name.hasSuffix(".swift") ? [path] : sources(in: path)
    }
  }
}
