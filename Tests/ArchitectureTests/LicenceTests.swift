import TestSupport
import Testing

/// `scripts/sbom`: what the programs are made of, with versions and licences, for a release.
@Suite("A bill of materials") struct LicenceTests {
  private static let bill = "cd '\(PureRingsTests.root)' && scripts/sbom '\(LinkedProgramsTests.folder)'"

  @Test("has each library that a program needs, each package and the runtime, with version and licence; the same bytes each time")
  func complete() throws {
    let linked = try shell(
      "for one in '\(LinkedProgramsTests.folder)'/roamward '\(LinkedProgramsTests.folder)'/roamwardd; do readelf -dW $one; done"
        + " | sed -n 's/.*(NEEDED).*\\[\\(.*\\)\\]/\\1/p' | grep -v '^lib\\(swift\\|Foundation\\)' | sort -u")
    let names = try shell("\(Self.bill) | jq -r '.components[] | select(.licenses[0]) | .name'").split(separator: "\n")
    let needed = linked.split(separator: "\n")
    #expect(needed.count > 5 && Set(needed).isSubset(of: names), "\(needed) \(names)")
    #expect(Set(names).isSuperset(of: ["swift-argument-parser", "swift-log", "swift-runtime", "libsodium.so.23", "libnl-3.so.200"]))
    #expect(try shell("\(Self.bill) | jq -r '.bomFormat + \" \" + .specVersion'") == "CycloneDX 1.5\n")
    #expect(try shell(Self.bill) == shell(Self.bill))
  }

  @Test("is refused where a library has no licence, or a program is missing") func refused() throws {
    let folder = try TemporaryFolder()
    let said = try shell(
      """
      cd '\(folder.path)' && mkdir scripts packaging && cp '\(PureRingsTests.root)'/scripts/sbom scripts/
      for one in packaging/content packaging/loaded-libraries Package.swift VERSION; do cp '\(PureRingsTests.root)'/$one $one; done
      grep -v '^libsodium' '\(PureRingsTests.root)'/packaging/licences >packaging/licences
      scripts/sbom '\(LinkedProgramsTests.folder)' 2>&1; scripts/sbom . 2>&1; true
      """)
    #expect(
      said == """
        sbom: libsodium.so.23 has no licence in packaging/licences; add a row for it
        sbom: . has no roamward; cure: make build

        """)
  }
}
