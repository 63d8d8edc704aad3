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
    needs: [device, udp]
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
              insecure: accept
      """)
    #expect(loaded.diagnostics.isEmpty, "\(loaded.diagnostics)")
    guard case .installed(let provider) = try #require(loaded.policies.tunnels.first).provider else {
      Issue.record("\(loaded.policies.tunnels)")
      return
    }
    #expect(provider.program.path == "/usr/lib/sample" && provider.program.needs == [.device, .udp] && provider.program.isInsecure)
    #expect(provider.options["server"]?.string == "vpn.example:9")
    #expect(provider.credentials == [ProviderCredential(name: "password", path: "/etc/p/secret")])
    #expect(provider.allowance.routes.map(\.description) == ["10.0.0.0/8"])
    #expect(!loaded.dependencies.contains("/etc/p/secret"), "no copy of a secret is kept")
    #expect(loaded.dependencies.contains("/usr/lib/roamward/providers/sample.yaml"))
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
      ("        name: sample\n        colour: red", "7:9: unknown key \"colour\" in the `installed` provider"),
      ("        options: {}", "`name` is missing in the `installed` provider"),
    ]) func mistakes(provider: String, problem: String)
  {
    let found = problems(provider)
    #expect(found.contains { $0.contains(problem) }, "\(found)")
  }

  @Test("a secret that others may read is refused") func openSecret() {
    let found = problems(
      "        name: sample\n        options: { server: \"a:1\" }\n        credentials: { password: secret }\n        insecure: accept",
      mode: 0o644)
    #expect(found == ["8:34: the credential /etc/p/secret cannot be used: others may read it"], "\(found)")
  }
}
