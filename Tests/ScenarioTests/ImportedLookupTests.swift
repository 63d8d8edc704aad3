import Testing

/// The rules of the profile, in the form of `jq`.
private let rules = """
  [
    { "Action": "Disconnect", "InterfaceTypeMatch": "Ethernet" },
    { "Action": "EvaluateConnection", "ActionParameters": [
      { "Domains": ["public.corp.example"], "DomainAction": "NeverConnect" },
      { "Domains": ["corp.example"], "DomainAction": "ConnectIfNeeded" },
      { "Domains": ["servers.example"], "DomainAction": "ConnectIfNeeded", "RequiredDNSServers": ["10.77.0.1"] },
      { "Domains": ["probed.example"], "DomainAction": "ConnectIfNeeded", "RequiredDNSServers": ["10.77.0.1"],
        "RequiredURLStringProbe": "http://intranet.corp.example/" }
    ] }
  ]
  """

/// Names that always connect: the probe of their entry is never answered.
private let alwaysRules = """
  [
    { "Action": "EvaluateConnection", "ActionParameters": [
      { "Domains": ["corp.example"], "DomainAction": "ConnectIfNeeded", "RequiredURLStringProbe": "http://0.0.0.0/" }
    ] }
  ]
  """

@Suite("An Apple profile whose look-ups start the tunnel", .needsLab, .serialized)
struct ImportedLookupScenes {
  @Test("is imported, and starts at the look-ups of each client and of each kind of entry; the exported rules are those of the profile")
  func imported() throws {
    let clients = Client.present
    let scene = try Scene([:], words: ["names.bash", "clients.bash"])
    try scene.write("rules.json", rules)
    let seen = try scene.play(
      "ImportedLookup/imported",
      with: [
        "CLIENTS": clients.map(\.rawValue).joined(separator: " "),
        "OTHERS": clients.filter { ![.glibc, .curl].contains($0) }.map(\.rawValue).joined(separator: " "),
      ])
    let answers = seen.lines.filter { $0.hasPrefix("[") }
    let names = ["intranet.corp.example", "wiki.servers.example", "wiki.probed.example"]
    let byName = names.flatMap { name in [Client.glibc, .curl].map { "[\($0.rawValue) \(name) \($0.success) connected]" } }
    let byClient = clients.filter { ![.glibc, .curl].contains($0) }.map { "[\($0.rawValue) \($0.success) connected]" }
    #expect(answers == ["[home not found]", "[home disconnected]"] + byName + byClient + ["[same rules]"], "\(seen)")
  }
  @Test("is imported, and its tunnel is armed: look-ups of its names start it, and a browser loads their page at the first attempt")
  func armed() throws {
    let clients = Client.present.contains(.chromium) ? "glibc curl once" : "glibc curl"
    let scene = try Scene([:], words: ["names.bash", "clients.bash"])
    try scene.write("rules.json", alwaysRules)
    let seen = try scene.play("ImportedLookup/armed", with: ["CLIENTS": clients])
    let browser = clients.hasSuffix("once") ? ["[once Welcome to the intranet. connected]"] : []
    #expect(
      seen.lines.filter { $0.hasPrefix("[") } == ["[glibc 10.77.0.1 connected]", "[curl Welcome to the intranet. connected]"] + browser
        + ["[same rules]"], "\(seen)")
  }

  @Test("whose WireGuard text names no DNS server: those that its names require answer for them inside the tunnel")
  func requiredServers() throws {
    let scene = try Scene([:], words: ["names.bash", "clients.bash"])
    try scene.write("rules.json", rules)
    let seen = try scene.play("ImportedLookup/required-servers")
    #expect(seen.lines.filter { $0.hasPrefix("[") } == ["[10.77.0.1 connected]", "[10.77.0.1 connected]"], "\(seen)")
  }
}
