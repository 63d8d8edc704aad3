import AgentCore
import Glibc
import LinuxIO
import LinuxPlatform
import TestSupport
import Testing

@Suite("The notice at login")
struct LoginNoticeTests {
  private func text(_ path: String?) -> String? {
    path.flatMap { path in (try? TextFile.read(path)).map { String(decoding: $0, as: UTF8.self) } }
  }

  @Test("stands in the folder while there is something to say, and leaves the folder as it was") func besideOthers() throws {
    let folder = try TemporaryFolder()
    let notice = LoginNotice(folder: folder.path)
    notice.say("held back")
    #expect(text(notice.path) == "held back\n")
    notice.say("still held back")
    #expect(text(notice.path) == "still held back\n" && Folder.names(in: folder.path).count == 1)
    LoginNotice(folder: folder.path).say(nil)
    #expect(notice.path == nil && FileNature.exists(folder.path) && Folder.names(in: folder.path) == [])
    notice.say(nil)
  }

  @Test("a folder that is missing is made, and goes with it, unless somebody else uses it by then", arguments: [false, true])
  func ownFolder(isUsed: Bool) throws {
    let parent = try TemporaryFolder()
    let path = "\(parent.path)/motd.d"
    // One that was killed in the middle.
    try Folder.make(path + TextFile.temporarySuffix, mode: 0o755)
    LoginNotice(folder: path).say("held back")
    #expect(text(LoginNotice(folder: path).path) == "held back\n" && Folder.names(in: parent.path) == ["motd.d"])
    if isUsed { try TextFile.create("\(path)/theirs", with: [], mode: 0o644) }
    LoginNotice(folder: path).say(nil)
    #expect(LoginNotice(folder: path).path == nil)
    #expect(Folder.names(in: parent.path) == (isUsed ? ["motd.d"] : []))
    #expect(Folder.names(in: path) == (isUsed ? ["theirs"] : []))
  }
}
