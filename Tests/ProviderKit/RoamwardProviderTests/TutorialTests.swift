import LinuxIO
import Testing

/// The tutorial shows the example as it is.
@Suite struct TutorialTests {
  @Test("ends in the example, which has less than 100 lines, and in its manifest") func example() throws {
    let root = #filePath.split(separator: "/").dropLast(4).reduce("") { $0 + "/" + $1 }
    func text(_ path: String) throws -> String { String(decoding: try TextFile.read("\(root)/\(path)"), as: UTF8.self) }
    let tutorial = try text("Sources/ProviderKit/Rim/RoamwardProvider/RoamwardProvider.docc/Tutorial.md")
    let (provider, main) = (
      try text("examples/providers/plain-udp/PlainUDP/PlainUDP.swift"), try text("examples/providers/plain-udp/plain-udp/main.swift")
    )
    #expect(tutorial.contains("```swift\n\(provider)```") && tutorial.contains("```swift\n\(main)```"))
    #expect(tutorial.contains("```yaml\n\(try text("examples/providers/plain-udp/provider.yaml"))```"))
    #expect((provider + main).split(separator: "\n", omittingEmptySubsequences: false).count <= 100)
  }
}
