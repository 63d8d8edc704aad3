import PolicyAuthoring
import PolicyFiles
import PolicyLint
import PolicySource
import RoamwardCore
import TestKit
import Testing

/// Nothing that is done with a folder of policies is quadratic in its files.
@Suite("Growth with files", .serialized) struct FileGrowthTests {
  private func text(_ number: Int, _ ssid: String) -> [UInt8] {
    Array(
      """
      version: 1
      networks: { home\(number): { ssid: \(ssid) } }
      tunnels:
        site\(number):
          provider: { command: { up: [/u], down: [/d] } }
          on-demand: { rules: [{ match: { network: home\(number) }, action: connect }, { action: disconnect }] }

      """.utf8)
  }

  private func texts(_ count: Int) -> [String: [UInt8]] {
    Dictionary(uniqueKeysWithValues: (0..<count).map { ("/p/\($0).yaml", text($0, "Home")) })
  }

  private func load(_ texts: [String: [UInt8]], _ known: inout ParsedPolicies) -> LoadedPolicies {
    loadPolicies(layers: ["/p"], files: .linux.with(texts), requireRootOwnership: false, reusing: &known)
  }

  @Test("they are loaded, and loaded again after a change of one", arguments: [true, false]) func loading(isFirst: Bool) throws {
    let exponent = try growthExponent(from: 100) { count in
      var texts = texts(count)
      var parsed = ParsedPolicies()
      if !isFirst {
        _ = load(texts, &parsed)
        texts["/p/7.yaml"] = text(7, "Office")
      }
      return {
        var known = parsed
        #expect(load(texts, &known).policies.tunnels.count == count)
      }
    }
    #expect(exponent < linearGrowth)
  }

  @Test("they are listed") func listing() throws {
    let exponent = try growthExponent { count in
      var parsed = ParsedPolicies()
      let loaded = load(texts(count), &parsed)
      return { #expect(PolicyListing(loaded).files.count == count) }
    }
    #expect(exponent < linearGrowth)
  }

  @Test("they are checked") func checking() throws {
    let exponent = try growthExponent(from: 100) { count in
      var parsed = ParsedPolicies()
      let policies = load(texts(count), &parsed).policies
      return { _ = lint(policies) }
    }
    #expect(exponent < linearGrowth)
  }
}
