import Testing

@testable import KeyMemory

@Suite struct SecretBytesTests {
  @Test("a secret tells nothing of itself, however it is printed") func printing() throws {
    let secret = try #require(SecretBytes(bytes: [UInt8](repeating: 0xa7, count: 32)))
    var dumped = ""
    dump(["key": secret], to: &dumped)
    for text in ["\(secret)", String(reflecting: secret), "\(Optional.some(secret) as Any)", dumped] {
      #expect(text.contains("(secret)"))
      #expect(!text.contains("167") && !text.contains("a7"))
    }
  }

  @Test("a cell is wiped when its secret goes, and is used again") func wiping() {
    let memory = SecretMemory()
    let cell = memory.take()
    cell.initializeMemory(as: UInt8.self, repeating: 0xa7, count: 32)
    memory.release(cell)
    #expect(UnsafeRawBufferPointer(start: cell, count: 32).allSatisfy { $0 == 0 })
    #expect(memory.take() == cell)
  }

  @Test("comparing is by content") func comparing() throws {
    let one = try #require(SecretBytes(bytes: [UInt8](repeating: 1, count: 32)))
    #expect(try one == #require(SecretBytes(bytes: [UInt8](repeating: 1, count: 32))))
    #expect(one != SecretBytes())
    #expect(SecretBytes().isZero && !one.isZero)
    #expect(SecretBytes(bytes: [1, 2, 3]) == nil)
  }
}
