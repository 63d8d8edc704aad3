import Glibc
import OpenVPNProvider
import RoamwardProvider

exit(ProviderProgram.run(OpenVPN<OpenVPNProcess>.self, program: "roamward-openvpn 0.1.0"))
