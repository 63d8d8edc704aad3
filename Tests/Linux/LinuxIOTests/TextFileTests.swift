import Glibc
import LinuxIO
import TestSupport
import Testing

@Suite("A text file")
struct TextFileTests {
  private let folder: TemporaryFolder
  private var path: String { folder.path + "/file" }

  init() throws { folder = try TemporaryFolder() }

  @Test("is replaced whole, with the mode asked for and nothing left beside it")
  func replace() throws {
    try TextFile.replace(path, with: [1, 2], mode: 0o640)
    try TextFile.replace(path, with: [3], mode: 0o666)
    var status = stat()
    #expect(lstat(path, &status) == 0)
    #expect(status.st_mode & 0o777 == 0o666)
    #expect(try TextFile.read(path) == [3])
    #expect(try shell("ls \(folder.path)") == "file\n")
  }

  @Test("of more than the limit is not read")
  func limit() throws {
    try TextFile.replace(path, with: Array(repeating: 0, count: 100), mode: 0o600)
    #expect(try TextFile.read(path, limit: 100).count == 100)
    let error = #expect(throws: SystemError.self) { try TextFile.read(path, limit: 99) }
    #expect(error?.code == EFBIG)
  }

  @Test("is overwritten in place, but not through a link")
  func overwrite() throws {
    try TextFile.replace(path, with: [1, 2, 3], mode: 0o600)
    try TextFile.overwrite(path, with: [4])
    #expect(try TextFile.read(path) == [4])
    try shell("ln -s file \(folder.path)/link")
    let error = #expect(throws: SystemError.self) { try TextFile.overwrite(folder.path + "/link", with: [5]) }
    #expect(error?.code == ELOOP)
  }

  @Test("that is not there is as good as removed")
  func remove() throws {
    try TextFile.replace(path, with: [], mode: 0o600)
    try TextFile.remove(path)
    try TextFile.remove(path)
  }
}
