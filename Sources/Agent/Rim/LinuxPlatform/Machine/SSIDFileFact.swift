internal import Glibc
internal import LinuxIO
internal import NetworkTypes
internal import PolicySource
internal import RoamwardCore

/// The SSID that a file names (`--ssid-file`). A missing file means no network; a file that cannot be read means unknown.
func ssidFact(_ path: String) -> Fact<SSID?> {
  do throws(SystemError) {
    return parseSSIDFact(try TextFile.read(path, limit: 4096))
  } catch {
    return error.code == ENOENT ? .known(nil) : .unknown(reason: "SSID file: \(error)")
  }
}
