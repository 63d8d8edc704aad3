import Glibc
import PlainUDP
import RoamwardProvider

exit(ProviderProgram.run(PlainUDP.self, program: "plain-udp 1.0"))
