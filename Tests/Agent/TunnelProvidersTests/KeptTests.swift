import Glibc
import LinuxIO
import RoamwardCore
import TestSupport
import Testing

@testable import TunnelProviders

@Suite struct KeptTests {
  private func program(_ path: String) -> ProviderProgram { ProviderProgram(name: "a", path: path, user: "nobody") }

  @Test("what is kept is for root alone, for one tunnel of one program, replaced and forgotten") func life() throws {
    let folder = try TemporaryFolder()
    let kept = KeptForProviders(folder: folder.path + "/kept")
    let (one, other) = (program("/usr/sbin/one"), program("/usr/sbin/other"))
    #expect(kept.read("corp", one) == nil)
    try kept.write([1, 10, 2], "corp", one)
    #expect(kept.read("corp", one) == [1, 10, 2] && kept.read("corp", other) == nil && kept.read("home", one) == nil)
    var status = stat()
    #expect(lstat(folder.path + "/kept/corp", &status) == 0 && status.st_mode & 0o777 == 0o600)
    #expect(lstat(folder.path + "/kept", &status) == 0 && status.st_mode & 0o777 == 0o700)
    try kept.write([3], "corp", one)
    #expect(kept.read("corp", one) == [3])
    try kept.write([], "corp", one)
    #expect(kept.read("corp", one) == nil && Folder.names(in: folder.path + "/kept").isEmpty)
    try kept.write([], "corp", one)
    try TextFile.replace(folder.path + "/kept/corp", with: [UInt8](repeating: 1, count: 1 << 20), mode: 0o600)
    #expect(kept.read("corp", one) == nil)
  }
}
