import NetworkTypes
import RoamwardCore
import TestKit
import Testing

@Suite("The prefix of a translation") struct TranslationPrefixTests {
  /// RFC 6052, section 2.4, with the addresses of RFC 7050.
  @Test(
    "is found at each length, and gives the addresses of RFC 6052",
    arguments: [
      ("2001:db8:c000:aa::", "2001:db8:cb00:710a::"), ("2001:db8:1c0:0:aa::", "2001:db8:1cb:71:a::"),
      ("2001:db8:122:c000:0:aa00::", "2001:db8:122:cb00:71:a00::"), ("2001:db8:122:3c0:0:ab::", "2001:db8:122:3cb:0:710a::"),
      ("2001:db8:122:344:c0:0:aa00::", "2001:db8:122:344:cb:71:a00::"), ("2001:db8:122:344::c000:ab", "2001:db8:122:344::cb00:710a"),
      ("64:ff9b::c000:aa", "64:ff9b::cb00:710a"),
    ])
  func lengths(_ shown: String, _ translated: String) throws {
    let prefix = try #require(TranslationPrefix(in: [Sample.address("192.0.0.170"), Sample.address(shown)]))
    let endpoint = Sample.address("203.0.113.10")
    #expect(prefix.address(of: endpoint) == Sample.address(translated))
    #expect(TranslationPrefix.isTranslation(Sample.address(translated), of: endpoint))
    #expect(prefix.address(of: Sample.address("2001:db8::1")) == Sample.address("2001:db8::1"))
  }

  @Test("is none where the servers translate nothing, or another address is shown") func none() {
    for shown in [[], ["192.0.0.170", "192.0.0.171"], ["2001:db8::1"], ["64:ff9b::c000:ac"]] {
      #expect(TranslationPrefix(in: shown.map(Sample.address)) == nil, "\(shown)")
    }
    #expect(!TranslationPrefix.isTranslation(Sample.address("2001:db8::1"), of: Sample.address("203.0.113.10")))
  }
}
