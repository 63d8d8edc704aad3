import LinuxIO
import Testing

/// A type has at most 400 lines over all its files, and at most 12 stored properties unless it is a plain row: a structure all of whose
/// properties its users see. Those that are larger are in a list, with a reason each; what shrinks leaves it.
@Suite struct TypeSizeTests {
  static let lineLimit = 400
  static let propertyLimit = 12

  struct Size: Equatable {
    var lines = 0
    /// Stored properties, of a class or of a structure that hides some.
    var properties = 0
  }

  /// The types larger than the limits, with their sizes and the reason. Lower a number with the type.
  static let exceptions: [String: (lines: Int, properties: Int, reason: String)] = [
    "AgentCore.Agent": (909, 0, "the entry of each event and request, in files by subject"),
    "AgentCore.AgentState": (533, 19, "all that the agent knows between passes, changed in place for speed (decision 53)"),
    "ControlProtocol.StatusReport": (1006, 0, "a report with its parts, each declared once with its schema"),
    "GatewayCore.Administration": (679, 0, "each request of an administrator, as a function with its audit entry"),
    "GatewayCore.Directory": (472, 26, "the rows of the store, and what is looked up in them"),
    "GatewayLogin.LoginConversation": (419, 0, "the machine of a login, one function for each message"),
    "GatewayStore.GatewayStore": (558, 0, "each row there and back, for two engines"),
    "HostDNS.ResolvedBackend": (0, 13, "calls by D-Bus that are under way, beside the links' settings"),
    "HostServices.HostServices": (0, 13, "the state of each program of the host that gives facts"),
    "KernelModel.FirewallTable": (418, 0, "the rules of a table, their text and their digest"),
    "LinuxPlatform.LinuxMachine": (511, 19, "sessions of the kernel and work that is prepared ahead (decision 53)"),
    "NameServer.ForwardMachine": (0, 15, "questions under way, by client, server and deadline"),
    "NameServer.NameServerMachine": (0, 13, "rules, cache, held and forwarded questions, one machine"),
    "NameWorker.NameWork": (422, 20, "sockets and connections by kind, with their timers"),
    "PolicyImport.HookFirewall": (427, 0, "the language of iptables lines that wg-quick files have"),
    "PolicyImport.ImportedTunnel": (0, 20, "all that an import may find of a tunnel, before it is written"),
    "PolicySource.ValueReader": (641, 0, "a reader for each kind of value, declared beside its words"),
    "ProviderProtocol.ProviderSession": (616, 0, "the agent's side of the protocol, one function for each message"),
    "RoamwardCore.CriterionKey": (0, 14, "a key of a rule with its reader, words, schema and weight"),
    "RoamwardCore.DesiredState": (767, 0, "all that a machine should have, and how it is compared"),
    "RoamwardCore.FactDeclaration": (0, 13, "a fact with its sources, reader, words and weight"),
    "RoamwardCore.TunnelMachine": (631, 0, "the states of a tunnel, one function for each event"),
    "RoamwardProviderTesting.MemoryHost": (0, 29, "an agent, a machine and a clock in memory for tests of providers"),
    "Simulation.SimulatedMachine": (587, 25, "a whole machine in memory"),
    "SystemdIO.SystemBus": (0, 13, "a connection with what it serves, watches and waits for"),
    "Wire.NetlinkWriter": (520, 0, "each object of rtnetlink, as bytes"),
    "WireGuardDataPath.Inbound": (0, 20, "buffers of a thread that are made once"),
    "WireGuardDataPath.Outbound": (0, 18, "buffers of a thread that are made once"),
    "WireGuardDataPath.Outbox": (0, 16, "buffers of a thread that are made once"),
    "WireGuardDataPath.WireGuardInterface": (0, 20, "the device, its sockets and threads, and what they share"),
    "WireGuardEngine.Engine": (947, 20, "the protocol with the contract of its two sections, in files by subject"),
    "WireGuardEngine.Peer": (0, 26, "a peer with its sessions, timers and counters, in one allocation"),
  ]

  /// A word of a declaration that may precede its kind.
  private static let modifiers: Set = [
    "public", "package", "internal", "fileprivate", "private", "final", "indirect", "unowned", "weak", "lazy", "mutating", "nonmutating",
    "nonisolated(unsafe)", "private(set)", "package(set)", "fileprivate(set)", "internal(set)", "unowned(unsafe)", "nonisolated",
  ]

  /// The kind and the name of a declaration, and the words before.
  private static func declaration(_ line: Substring) -> (kind: Substring, name: Substring, before: [Substring])? {
    var words = line.split(separator: " ")[...]
    var before: [Substring] = []
    while let word = words.first, modifiers.contains(String(word)) || word.hasPrefix("@") { before.append(words.removeFirst()) }
    guard let kind = words.popFirst(), let name = words.first else { return nil }
    return (kind, name.prefix { $0.isLetter || $0.isNumber || $0 == "." || $0 == "_" }, before)
  }

  /// The sizes of the types that a target's files declare and extend, outside of other types.
  static func sizes(of texts: [String]) -> [String: Size] {
    var sizes: [String: Size] = [:]
    for text in texts {
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
      var start = lines.startIndex
      while start < lines.endIndex {
        guard lines[start].first.map({ !$0.isWhitespace }) == true, let (kind, name, _) = declaration(lines[start]),
          ["struct", "class", "enum", "extension"].contains(kind)
        else {
          start += 1
          continue
        }
        let isShort = lines[start].hasSuffix("}")
        let end = isShort ? start : lines[start...].firstIndex { $0 == "}" } ?? lines.endIndex - 1
        let type = String(name.split(separator: ".").last ?? name)
        sizes[type, default: Size()].lines += end - start + 1
        let stored = lines[start...end].filter { $0.hasPrefix("  ") && !$0.hasPrefix("   ") }.compactMap(property)
        if kind == "class" || (kind == "struct" && stored.contains { $0.isHidden }) {
          sizes[type, default: Size()].properties += stored.map(\.count).reduce(0, +)
        }
        start = end + 1
      }
    }
    return sizes
  }

  /// A line that declares stored properties: how many, and whether other types see them.
  private static func property(_ line: Substring) -> (count: Int, isHidden: Bool)? {
    guard let (kind, _, before) = declaration(line), ["let", "var"].contains(kind), !line.contains(" static ") else { return nil }
    // A body on the line, or one that begins there, without an initial value: computed. With `didSet` it is stored.
    let head = line.prefix { $0 != "{" && $0 != "=" }
    if head.endIndex < line.endIndex, line[head.endIndex] == "{", !line.contains("didSet") { return nil }
    let names = line.prefix { $0 != ":" && $0 != "=" }
    return (names.count { $0 == "," } + 1, before.contains("private") || before.contains("fileprivate"))
  }

  @Test("types are small, or in the list") func small() throws {
    var large: [String: Size] = [:]
    for room in House.ours.inside where ["pure", "rim", "program"].contains(room.kind) {
      let texts = try swiftFiles(in: sources(of: room.name)).map { String(decoding: try TextFile.read($0), as: UTF8.self) }
      for (type, size) in Self.sizes(of: texts) where size.lines > Self.lineLimit || size.properties > Self.propertyLimit {
        large["\(room.name).\(type)"] = Size(
          lines: size.lines > Self.lineLimit ? size.lines : 0, properties: size.properties > Self.propertyLimit ? size.properties : 0)
      }
    }
    for (name, size) in large.sorted(by: { $0.key < $1.key }) {
      let bound = Self.exceptions[name]
      #expect(size.lines <= bound?.lines ?? 0, "\(name) has \(size.lines) lines")
      #expect(size.properties <= bound?.properties ?? 0, "\(name) has \(size.properties) stored properties")
    }
    for (name, bound) in Self.exceptions.sorted(by: { $0.key < $1.key }) {
      let size = large[name] ?? Size()
      #expect(bound.lines <= size.lines + 20 && bound.properties == size.properties, "\(name) is smaller now: \(size)")
      #expect(bound.reason.count > 20, "\(name)")
    }
  }

  @Test("the check counts lines over all files, and stored properties") func detector() {
    let texts = [
      """
      package final class A {
        private let a: Int
        var b = { 1 }
        var c: Int { 2 }
        var d: Int {
          3
        }
        static let e = 1
        private(set) var f, g: Int
        var h: Int { didSet {} }
      }
      struct Row { let a: Int }
      """,
      "extension A {\n  func f() {}\n}\nextension B.A { }\nstruct Row2 {\n  let a: Int\n}",
    ]
    let sizes = Self.sizes(of: texts)
    #expect(sizes["A"] == Size(lines: 15, properties: 5))
    #expect(sizes["Row"] == Size(lines: 1, properties: 0) && sizes["Row2"] == Size(lines: 3, properties: 0))
  }
}
