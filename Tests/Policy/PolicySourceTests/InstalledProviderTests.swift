import JSON
import NetworkTypes
import PolicyFiles
import RoamwardCore
import Testing

@testable import PolicySource

/// Tunnels of installed providers: options by their manifest, secrets by their files, errors at their places.
@Suite struct InstalledProviderReaderTests {
  static let manifest = """
    name: sample
    about: A sample.
    program: /usr/lib/sample
    user: roamward-provider
    insecure: true
    needs: [device, udp, ask]
    options: { type: object, required: [server], properties: { server: { type: string, format: endpoint } } }
    """

  func load(_ provider: String, mode: UInt32 = 0o600) -> LoadedPolicies {
    var files = MemoryFiles([
      "/etc/p/10-a.yaml": "version: 1\ntunnels:\n  t:\n    provider:\n      installed:\n\(provider)\n",
      "/etc/p/secret": "hunter2\n", "/usr/lib/roamward/providers/sample.yaml": Self.manifest,
    ])
    files.files["/etc/p/secret"]?.status.mode = mode
    files.files["/etc/p/10-a.yaml"]?.status.mode = 0o644
    return loadPolicies(layers: ["/etc/p"], files: files.system, requireRootOwnership: true)
  }

  func problems(_ provider: String, mode: UInt32 = 0o600) -> [String] {
    load(provider, mode: mode).diagnostics.map { "\($0.location.line):\($0.location.column): \($0.message)" }
  }

  @Test("a tunnel has its program, options, secrets and what its server may bring") func values() throws {
    let loaded = load(
      """
              name: sample
              options: { server: "vpn.example:9" }
              credentials: { password: secret }
              allow: { routes: [10.0.0.0/8], domains: [corp.example] }
              sign-in: { hosts: [Login.example, "mfa.example:8443", 192.0.2.7, "2001:db8::7", "[2001:db8::8]:8443"] }
              insecure: accept
      """)
    #expect(loaded.diagnostics.isEmpty, "\(loaded.diagnostics)")
    guard case .installed(let provider) = try #require(loaded.policies.tunnels.first).provider else {
      Issue.record("\(loaded.policies.tunnels)")
      return
    }
    #expect(provider.program.path == "/usr/lib/sample" && provider.program.needs == [.device, .udp, .ask] && provider.program.isInsecure)
    #expect(provider.options["server"]?.string == "vpn.example:9")
    #expect(provider.credentials == [ProviderCredential(name: "password", path: "/etc/p/secret")])
    #expect(provider.allowance.routes.map(\.description) == ["10.0.0.0/8"])
    #expect(provider.signInHosts.map(\.port) == [443, 8443, 443, 443, 8443])
    #expect(
      provider.signInHosts.map(\.webServerText) == ["login.example", "mfa.example:8443", "192.0.2.7", "2001:db8::7", "[2001:db8::8]:8443"])
    #expect(
      PolicyPrinter.yaml(loaded.policies).contains(
        "sign-in: { hosts: [login.example, mfa.example:8443, 192.0.2.7, \"2001:db8::7\", \"[2001:db8::8]:8443\"] }"),
      "\(PolicyPrinter.yaml(loaded.policies))")
    #expect(!loaded.dependencies.contains("/etc/p/secret"), "no copy of a secret is kept")
    #expect(loaded.dependencies.contains("/usr/lib/roamward/providers/sample.yaml"))
  }

  @Test("`start-options` names options that a start may set, and is no part of the tunnel's definition") func startOptions() throws {
    let text = "        name: sample\n        options: { server: \"a:1\" }\n        insecure: accept\n"
    let (plain, named) = (load(text), load(text + "        start-options: [server, password]\n"))
    #expect(named.diagnostics.isEmpty, "\(named.diagnostics)")
    let (one, two) = (try #require(plain.policies.tunnels.first), try #require(named.policies.tunnels.first))
    guard case .installed(let provider) = two.provider else { throw CancellationError() }
    #expect(
      provider.startable.ofUsers == ["server", "password"] && provider.startable.schema?.properties.declared.map(\.name) == ["server"])
    #expect(one.definition == two.definition && one.provider.isSameTunnel(as: two.provider) && one != two)
    #expect(PolicyPrinter.yaml(named.policies).contains("start-options: [server, password]"), "\(PolicyPrinter.yaml(named.policies))")
    let given = try provider.startable.read([("server", "b:2")], of: "t", isOwner: false)
    #expect(given == ["server": "b:2"] && two.with(given) == ["server": "b:2"])
  }

  @Test(
    "each mistake has its place and its reason",
    arguments: [
      ("        name: other", "6:15: the provider \"other\" cannot be used: it is not installed"),
      ("        name: sample\n        options: { server: x }\n        insecure: accept", "7:28: expected HOST:PORT"),
      ("        name: sample\n        insecure: accept", "`server` is missing in the options of `sample`"),
      ("        name: sample\n        options: { server: \"a:1\" }", "6:15: the provider \"sample\" protects nothing"),
      ("        name: sample\n        credentials: { Password: secret }", "7:24: \"Password\" is no name of a credential"),
      ("        name: sample\n        credentials: { password: none }", "the credential /etc/p/none cannot be used"),
      (
        "        name: sample\n        options: { server: \"a:1\" }\n        start-options: [servr]\n        insecure: accept",
        "8:24: the provider \"sample\" has no option \"servr\", which a start could set"
      ),
      (
        "        name: sample\n        options: { server: \"a:1\" }\n        start-options: { server: b }\n        insecure: accept",
        "8:24: expected"
      ),
      ("        name: sample\n        colour: red", "7:9: unknown key \"colour\" in the `installed` provider"),
      (
        "        name: sample\n        sign-in: { hosts: [a.example, \"*.cdn.example\"] }",
        "7:39: \"*.cdn.example\" is a pattern; the kill switch opens addresses, and only a name has some"
      ),
      (
        "        name: sample\n        sign-in: { hosts: https://a.example/login }",
        "7:27: expected a name or an address, with a port or without it, such as login.example.com, found"
      ),
      ("        name: sample\n        sign-in: { hosts: a.example:0 }", "7:27: expected a name or an address"),
      ("        name: sample\n        sign-in: { names: a.example }", "7:20: unknown key \"names\" in `sign-in`"),
      (
        "        name: sample\n        sign-in: { hosts: [\((1...33).map { "a\($0).example" }.joined(separator: ", "))] }",
        "7:27: there are 33 hosts; at most 32 are allowed"
      ),
      ("        options: {}", "`name` is missing in the `installed` provider"),
    ]) func mistakes(provider: String, problem: String)
  {
    let found = problems(provider)
    #expect(found.contains { $0.contains(problem) }, "\(found)")
  }

  @Test("hosts of a sign-in are of no use to a provider that asks nobody") func withoutQuestions() {
    let files = MemoryFiles([
      "/etc/p/10-a.yaml":
        "version: 1\ntunnels:\n  t:\n    provider:\n      installed:\n        name: quiet\n        sign-in: { hosts: a.example }\n",
      "/usr/lib/roamward/providers/quiet.yaml":
        "name: quiet\nabout: Quiet.\nprogram: /usr/lib/quiet\nuser: roamward-provider\nneeds: [udp]\noptions: { type: object }\n",
    ])
    let found = loadPolicies(layers: ["/etc/p"], files: files.system, requireRootOwnership: true).diagnostics
    #expect(
      found.map { "\($0.location.line):\($0.location.column): \($0.message)" } == [
        "7:9: the provider \"quiet\" never asks a person to sign in: its manifest does not need `ask`"
      ])
    #expect(found.first?.severity == .warning)
  }

  @Test("a secret that others may read is refused") func openSecret() {
    let found = problems(
      "        name: sample\n        options: { server: \"a:1\" }\n        credentials: { password: secret }\n        insecure: accept",
      mode: 0o644)
    #expect(found == ["8:34: the credential /etc/p/secret cannot be used: others may read it"], "\(found)")
  }
}

extension TunnelPolicy {
  /// The options with those of a start.
  fileprivate func with(_ options: JSON) -> JSON? {
    let set = PolicySet(tunnels: [self]).with(startOptions: [name: options])
    guard case .installed(let provider) = set.tunnels.first?.provider else { return nil }
    return provider.options
  }
}
