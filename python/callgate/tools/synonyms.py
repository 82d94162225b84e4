"""Words that people and definitions use for one another: a small thesaurus, and words that say little or nothing."""

from __future__ import annotations

from functools import cache
from typing import Final

# A line is a group: each of its words stands for each of the others. A word may stand in several. Stems are enough, and
# endings are taken off words that are looked up. General English of offices, shops and computers; it knows no tool.
_GROUPS: Final = """
account customer client buyer
accept approve agree confirm release
access login role permission rights enter
add create new enter insert register
advertise campaign promote marketing
alarm alert warning
allow permit open grant
angry furious upset complaint escalate unhappy
answer reply respond response react
appointment event meeting calendar
archive compress zip pack
arrive deliver receipt receive incoming expect
article item product goods part
ask request inquire
attachment file document
available free left hand remaining
away absence vacation holiday leave out office
back return undo revert reverse previous restore
back-up backup dump snapshot copy
balance left remaining entitlement
bank account payment transfer
batch lot charge
begin start launch begin kick
bid offer quote quotation proposal
bill invoice charge
block stop ban suspend forbid
book reserve reservation
boss manager supervisor level
box machine server instance host
box parcel package carton goods
branch feature
break broken broke defect faulty damage fail
bug issue error defect problem
build pipeline compile ci job
buy purchase order procure bought acquire
cable network port
call phone telephone ring conversation interaction
call meeting conference video
calculate compute work
cancel end terminate quit withdraw stop
car vehicle van truck lorry carrier
card credit payment
cash money payment fund
cell sheet spreadsheet excel table
certificate tls ssl https
change update modify edit alter correct
chat channel slack message room
cheap price cost rate expensive compare
chart diagram graph plot
check inspect inspection quality verify review
claim expense reimburse refund
click open conversion campaign
client customer
close finish solve lock complete
cloud aws azure gcp
code source program line
colleague employee person team people
collect pickup fetch pick
column field table type
combine merge join unite
comment note review
commit change revision
company account firm organisation supplier customer
competitor market
component part material piece bom
computer machine server instance
connection flight route train
contact person address phone
contract agreement document
container pod kubernetes docker
convert turn transform format
copy duplicate replica clone
cost price spend charge rate expensive expense
count quantity number stock
courier carrier dhl ups fedex
create make new draw
currency exchange dollar euro pound yen franc
damage defect broken nonconformance
database table sql
date day time
day date
deal opportunity sale pipeline
debt owe overdue unpaid payable receivable outstanding due
delete remove erase drop wipe
deliver ship shipment send delivery
department team cost centre
deploy release roll rollout
desk support help ticket
details master data profile
discount rebate reduction
disk volume storage drive
dispute chargeback complaint
document file letter pdf word
dollar currency exchange
domain dns host website address
down outage incident fail
drive folder file
due overdue deadline owe
duty call shift tonight
duplicate twice double two same
email mail message inbox letter
employee staff person worker
empty low reorder few shortage
end close cancel finish
entry record account line
error exception fail log bug
estimate forecast expect plan
euro currency exchange
event appointment meeting
everything all stored
expense claim pocket spend travel
expire renew extend
export dump data
fast performance speed quick
faulty defect broken
fetch get download read collect
find search look locate
finished complete done closed
fire revoke leave left
firewall port traffic network
fix solve repair correct
flight airport fly plane
folder directory
forecast expect predict weather future
forget forgot reset
format convert
free available slot
furious escalate complaint
gather collect
give grant assign
gone spent used
goods item stock product
graph chart metric series
happy satisfied satisfaction rate
help support knowledge
hire recruit job vacancy
holiday leave vacation
host machine server
hotel stay overnight room accommodation
hour time minute
hr employee
image container machine
inbox mail email message
incident outage alarm
income revenue earn
index faster
inform tell notify message
install deploy
internet web public online
interview recruit transcript
inventory stock warehouse quantity
invite attendee appointment
invoice bill
issue bug ticket
job vacancy position opening
join merge
journey travel trip route
keep store save
key secret password
know tell inform
kubernetes pod deployment replica
language translate
last previous latest earlier
late delay overdue
launch start create
law privacy gdpr
lead prospect visitor interested become
learn find knowledge
leave vacation holiday off
leave left revoke
letter mail template
link address url web
load import
log output print line
login password access
look search find
look service maintenance
loss profit result
low reorder short
machine equipment
mail email message send letter
maintenance service repair
make manufacture produce production made
manufacture production make
master data
mark name tag label
meet meeting free appointment conference
memory cpu size ram
mention occurrence contain match
merge land join
message mail chat post email
missing lost
money payment cash revenue profit result cost invoice
month period
monthly recurring subscription plan
move transfer put shift
mute silence quiet
name call tag
new create latest
newsletter mailing campaign list
note log write record
notify alert tell
number count quantity
nudge remind reminder dunning
obligation due
offer quote quotation
office network calendar
old previous earlier
open create unfinished
opinion rating review
order purchase buy sale
outage incident down
output print log
overtime hour
overview list summary
owe overdue unpaid due payable
owner author
package parcel shipment
paper document
parcel shipment package
part component article
partner supplier customer
password login secret reset
past history previous
pay payment paid cost spend
payslip salary wage payroll
people person attendee
person people employee contact
phone call contact telephone
pick collect choose
pickup collect carrier
picture image photo
piece component item
plan schedule
poll status
position location place
post send publish
pr pull request proposal
press release
price cost rate
print output label
priority level
problem issue ticket incident error bug defect
process pipeline
produce make manufacture
product item article
production environment live prod staging
profit result revenue earn margin
project repository
promise deadline
proposal pull request offer
publish post
pull fetch
push upload
purchase buy order
quality inspection
quantity stock number
query select statement sql
question ticket
quick fast
quiet silence mute
quit leave
rain weather forecast snow sun storm temperature wind
rate price exchange
rating satisfaction score
read contents text open view
ready available
rebate discount
receipt receive
receive incoming
record book enter log note
reject decline refuse deny
release version deploy
remind reminder dunning letter
remote server
remove delete revoke take
rename move
repair maintenance service
replace change rotate
replica copy instance
report status
reserve book
resize scale size
restart start retry
restore back earlier
retry again
return back
revenue sale income
revert undo
review approve comment
right permission access
room place space meeting
route stops sequence tour
rule policy
run start execute
salary payslip wage pay
sale revenue sell sold
satisfaction happy rating
save store write
scale size replica
schedule plan
scrap waste
search find
seat flight
secret key password
see show list view
segment group
sell sale customer
send post write mail ship
sentence text
sequence order route
server machine instance virtual host vm linux box
service support maintenance workload
share give
shelf stock inventory warehouse
ship shipment send delivery
shop store
shortage low
sick leave absence
sign signature
silence quiet
site web page
size memory
slow performance cost explain
snapshot backup
solve close fix
speak say said conversation talk
spend cost used budget
spin launch create start
spreadsheet excel sheet
staff employee
stage state pipeline
start begin run launch
state status progress
statement sql query
stay hotel
stock inventory quantity hand
stop cancel block
storage disk bucket object
story issue
subscribe subscription list
supplier vendor seller
support ticket help
system service
table database
take remove
talk conversation said chat
task job
tax vat
taxi travel expense trip
team group channel
tell inform send
terminal shell
test pipeline build check
text word content
ticket case support
tidy clean
today date now current
track position where
traffic port
transcript said recorded conference
transfer move payment
translate language
travel trip flight hotel journey
trip travel expense
truck goods delivery
try test
turn convert
twice duplicate double
type kind
undo revert back
unfinished uncommitted stash
unit item
unpaid overdue
unsubscribe list stop
update change
upload put push
urgent priority escalate
usage used utilisation
use usage
user person account
vacancy job opening
vacation leave holiday office away
van vehicle delivery
vehicle car van truck
vendor supplier
version release revision tag
vm virtual machine instance
visit interaction appointment
visitor lead
vulnerability weakness security
wage salary
waiting open pending
warehouse stock bin hall
way route
weakness vulnerability
weather rain forecast
web internet page
website page web
win won deal opportunity
word text
work job
worker employee
workload deployment service
write note
wrong error defect
wrote author
yesterday past
zip compress archive
april date month calendar
arabic language translate
bar chart diagram
bill charge create
chinese language translate
crack damage defect broken
dent damage defect
dutch language translate
earn salary payslip wage income
english language translate
february date month calendar
french language translate
friday day date calendar appointment event leave
german language translate
italian language translate
japanese language translate
january date month calendar
leak damage defect
man person customer
monday day date calendar appointment event
o'clock time event appointment
pie chart diagram
polish language translate
portuguese language translate
road address street city
russian language translate
saturday day date calendar
scratch damage defect
spanish language translate
street address city
sunday day date calendar
thursday day date calendar appointment event
touch change edit
tuesday day date calendar appointment event
wednesday day date calendar appointment event
woman person customer
allow permission grant
anybody person
article help knowledge document
assign handle
ban block
beginning start
buy order create
cell spreadsheet sheet column row
configure set setup
crash fail error incident
duty call
experience satisfaction rating
explain help
flat apartment
folder drive
guest visitor attendee
handle assign
hole vulnerability weakness
instruction help document
laptop computer device
log journal
mastercard visa amex card
monitor metric alert watch
monthly month
offer quote create
picture screenshot image
poll vote
receive get
reduce discount credit less
reject decline respond
router network device
rotate replace
row record table
setting configuration
submit send
subtract less
telephone phone
timetable schedule
tool machine
transport carrier route
tutorial help article knowledge
upset angry
watch monitor
many quantity number count stock
much amount price cost balance
where position location address track
when time date calendar schedule
why reason explain cause log
who person author owner employee
which list search find
"""

# Forms of one word that no ending tells: they count like the word itself.
_FORMS: Final = """
be was were been
begin began begun
break broke broken
bring brought
build built
buy bought
catch caught
choose chose chosen
come came
do did done
draw drew drawn
drive drove driven
eat ate eaten
fall fell fallen
find found
fly flew flown
forget forgot forgotten
freeze froze frozen
get got
give gave given
go went gone
hide hid hidden
hold held
keep kept
know knew known
lead led
leave left
lend lent
lose lost
make made
mean meant
meet met
pay paid
ride rode ridden
rise rose risen
run ran
say said
see saw seen
sell sold
send sent
show shown
sign signed
speak spoke spoken
spend spent
steal stole stolen
take took taken
teach taught
tell told
think thought
throw threw thrown
win won
write wrote written
"""

# Verbs of two words, and other turns of phrase: what they mean is in neither word alone.
_PHRASES: Final = """
back up: backup snapshot
bring back: restore
call off: cancel
check in: register
come back: return
cut down: reduce
deal with: handle assign
draw up: create
fill in: complete enter
fill out: complete enter
find out: get search
get back: return refund restore
get in touch: contact message
get rid of: delete remove
give back: return refund
go back: restore rollback revert
go out: send
go to: address point
hand in: submit
hand over: transfer assign
in charge: owner duty
keep an eye on: monitor watch
kick off: start run
let go: release revoke
log in: login access
log on: login access
log out: logout
look after: maintain
look at: read view inspect
look for: search find
look into: inspect search
look up: search get
make sure: check verify
on duty: duty
out of stock: stock low
pay back: refund
pick up: collect pickup
pull up: get
put off: delay update
put together: merge combine create
right now: current
roll back: rollback
run out: low empty
say no: decline reject refuse deny
say yes: accept approve
send back: return
send out: send
set aside: reserve
set up: create configure
shut down: stop
sign off: approve sign
sign out: logout
sign up: register create subscribe
sort out: solve fix
spin up: create launch
spin down: stop
switch off: stop
switch on: start
switch to: checkout change
take back: return revoke
take care of: assign handle
take off: remove unsubscribe
take on: assign
tear down: delete
tell apart: compare
throw away: delete
turn down: decline reject
turn into: convert
turn off: stop silence
turn on: start
type in: enter write
wake up: start
warn me: alert
work on: edit
write down: log note record
write to: send message
write up: create document
"""
_PREPOSITIONS: Final = frozenset(("to", "with", "for", "at", "after"))
_STOP: Final = """
a an and any are as at be been by can could did do does for from give go had has have he her him his how i if in into is
it its just let me more my no not of on one or our out she should show so some something such tell than that the their
them then there these they this those to up us want was we were what whom whose will with would you your please need
must may might still again already now about
"""
_WEAK: Final = """
make put take bring keep last next first second third week month day hour minute time today tomorrow yesterday tonight
year quarter moment ages new old thing people way look know many much where when why who which
"""
STOP: Final = frozenset(_STOP.split())
"""Words that say nothing."""
WEAK: Final = frozenset(_WEAK.split())
"""Words that say little: light verbs, times, words that ask."""


def meant(text: str) -> list[str]:
    """Words that stand for the turns of phrase in a text; before an adverb other words may stand.

    >>> meant("write that down, and send it back")
    ['return', 'log', 'note', 'record']
    """
    words = text.split()
    found: dict[str, None] = {}
    for phrase, meaning in _phrases().items():
        if _holds(words, phrase):
            found.update(dict.fromkeys(meaning))
    return list(found)


@cache
def _phrases() -> dict[tuple[str, ...], tuple[str, ...]]:
    lines = (line.partition(":") for line in _PHRASES.strip().splitlines())
    return {tuple(phrase.split()): tuple(meaning.split()) for phrase, _, meaning in lines}


def _holds(words: list[str], phrase: tuple[str, ...]) -> bool:
    """Whether the words of a phrase stand in this order; before what is no preposition at most two others."""
    first = phrase[0]
    for at, word in enumerate(words):
        here = word.strip(".,;:!?")
        if first not in (here, *forms_of(here), *_stems(here)):
            continue
        for part in phrase[1:]:
            reach = 1 if part in _PREPOSITIONS else 3
            after = [other.strip(".,;:!?") for other in words[at + 1 : at + 1 + reach]]
            if part not in after:
                break
            at += 1 + after.index(part)
        else:
            return True
    return False


def forms_of(word: str) -> list[str]:
    """A word and its forms that no ending tells.

    >>> forms_of("paid")
    ['paid', 'pay']
    """
    return [word, *sorted(_forms().get(word, frozenset()))]


def related(word: str) -> list[str]:
    """Words that stand for a word, itself left out.

    >>> related("vendors")
    ['seller', 'supplier']
    """
    stems = [stem for form in forms_of(word) for stem in _stems(form)]
    found = {other for stem in stems for other in _table().get(stem, ())}
    return sorted(found.difference(stems))


@cache
def _forms() -> dict[str, frozenset[str]]:
    return _grouped(_FORMS)


@cache
def _table() -> dict[str, frozenset[str]]:
    return _grouped(_GROUPS)


def _grouped(lines: str) -> dict[str, frozenset[str]]:
    table: dict[str, set[str]] = {}
    for line in lines.strip().splitlines():
        group = line.replace("-", " ").split()
        for word in group:
            table.setdefault(word, set()).update(other for other in group if other != word)
    return {word: frozenset(others) for word, others in table.items()}


def _stems(word: str) -> list[str]:
    """A word, and what is left of it without the endings of English.

    >>> _stems("shelves")
    ['shelves', 'shelve', 'shelv', 'shelf']
    """
    found = [word]
    if word.endswith("ies") and len(word) > 4:
        found.append(word[:-3] + "y")
    if word.endswith("s") and len(word) > 3 and not word.endswith("ss"):
        found.append(word[:-1])
    for ending in ("es", "ed", "er", "est", "ing", "al", "ly"):
        if word.endswith(ending) and len(word) - len(ending) >= 3:
            stem = word[: -len(ending)]
            found += [stem, stem + "e"] if ending in ("ed", "er", "est", "ing") else [stem]
            if len(stem) > 3 and stem[-1] == stem[-2]:
                found.append(stem[:-1])
    if word.endswith("ves") and len(word) > 4:
        found.append(word[:-3] + "f")
    return list(dict.fromkeys(found))
